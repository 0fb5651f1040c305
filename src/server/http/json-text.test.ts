import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import { parseJson } from './json-text.ts'

const limits = { jsonDepth: 32, jsonEntries: 1000 }
const refusal = async (text: string): Promise<string> => {
  try {
    await parseJson(text, limits)
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return ''
}

/** Names as JSON.parse takes them, but for the one that is refused. */
const hasOddName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, inner]) => name === '__proto__' || hasOddName(inner))

describe('parseJson', () => {
  it('reads what JSON.stringify writes, as JSON.parse does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), async (value) => {
        fc.pre(!hasOddName(value))
        const text = JSON.stringify(value)
        const isWellFormed = !/\\u[dD][89a-fA-F]/.test(text)
        fc.pre(isWellFormed)
        expect(await parseJson(text, limits)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('refuses exactly what JSON.parse refuses, of texts without doubled names', async () => {
    const texts = fc.string({ unit: fc.constantFrom(...Array.from('{}[],:"\\ 10aeu-.')), maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const isJson = ((): boolean => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        const told = await refusal(text)
        if (isJson) expect(told === '' || told.includes('twice')).toBe(true)
        else expect(told).not.toBe('')
      }),
      cases(2000),
    )
  })

  it('a name that is given twice is refused, however it is written', async () => {
    expect(await refusal('{"a":1,"a":2}')).toContain('"a" twice')
    expect(await refusal('{"a":1,"\\u0061":2}')).toContain('"a" twice')
    expect(await refusal('{"a":{"b":1},"b":{"a":1}}')).toBe('')
    expect(await refusal('[{"a":1},{"a":2}]')).toBe('')
    expect(await refusal('{"a":"\\"a\\":1","b":["a","a"]}')).toBe('')
  })

  it('depth and number of entries have a limit', async () => {
    expect(await refusal(`${'['.repeat(32)}${']'.repeat(32)}`)).toBe('')
    expect(await refusal(`${'['.repeat(33)}${']'.repeat(33)}`)).toContain('deeper')
    expect(await refusal(`[${'1,'.repeat(1000)}1]`)).toBe('')
    expect(await refusal(`[${'1,'.repeat(1001)}1]`)).toContain('more than 1000')
    expect(await refusal('"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["')).toBe('')
  })

  it('a name has a greatest length, and a value has none', async () => {
    const most = 'n'.repeat(4094)
    expect(await refusal(`{"${most}":1}`)).toBe('')
    expect(await refusal(`{"${most}n":1}`)).toContain(`the name "${'n'.repeat(99)}… in it has more than 4096`)
    expect(await refusal(`{"n":"${most}n"}`)).toBe('')
    expect(await refusal(`["${most}n"]`)).toBe('')
  })

  it('a quote ends a string unless an odd number of backslashes is before it', async () => {
    for (let slashes = 0; slashes < 6; slashes++) {
      const text = `{"a":"${'\\'.repeat(slashes)}","a":1}`
      const isOpen = slashes % 2 === 1
      expect([slashes, (await refusal(text)).includes('twice')]).toEqual([slashes, !isOpen])
    }
    expect(await parseJson('["\\\\","{"]', limits)).toEqual(['\\', '{'])
  })

  it('others have their turns while a long text is looked at', async () => {
    let turns = 0
    let isOver = false
    const turn = (): void => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    // Each of its characters is a step, and so many steps take longer than one turn may on any machine.
    expect(await parseJson(`${' '.repeat(32 * 1024 * 1024)}1`, limits)).toBe(1)
    isOver = true
    expect(turns).toBeGreaterThan(1)
  })

  it('half a surrogate pair is refused, a whole one is not', async () => {
    expect(await refusal('{"a":"\\ud83d"}')).toContain('surrogate')
    expect(await refusal('{"\\udc00":1}')).toContain('surrogate')
    expect(await parseJson('"\\ud83d\\ude00"', limits)).toBe('😀')
  })
})
