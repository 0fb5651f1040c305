import { linkSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecInput } from '../contract/exec-record.ts'
import type { ExecRow } from '../contract/store.ts'
import { isGloveboxError } from '../errors/error.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { checkInputs } from './inputs.ts'
import { execPlace, inputsPlace } from './layout.ts'
import { keepInputs, placeInputs } from './place-inputs.ts'

let ground: Ground
let place: string
let row: ExecRow

beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
  place = inputsPlace(ground.root, 'project')
})
afterEach(() => ground.remove())

const keep = (inputs: readonly ExecInput[]): Promise<void> => keepInputs(ground.root, row, checkInputs(inputs))

const putAll = async (inputs: readonly ExecInput[]): Promise<void> => {
  await keep(inputs)
  await placeInputs(ground.root, row)
}

const put = (...paths: readonly string[]): Promise<void> =>
  putAll(paths.map((path) => ({ path, content: `of ${path}` })))

const codeOf = async (work: () => Promise<unknown>): Promise<string | undefined> => {
  try {
    await work()
    return undefined
  } catch (error) {
    return isGloveboxError(error) ? error.code : String(error)
  }
}

describe('inputs', () => {
  it('are written below inputs/, with the directories that they need', async () => {
    await put('a.txt', 'deep/er/b.txt')
    expect(readFileSync(join(place, 'deep/er/b.txt'), 'utf8')).toBe('of deep/er/b.txt')
    await putAll([{ path: 'a.txt', content_base64: Buffer.from([0, 255]).toString('base64') }])
    expect([...readFileSync(join(place, 'a.txt'))]).toEqual([0, 255])
  })

  it.each([
    '',
    '/etc/passwd',
    '..',
    '../x',
    'a/../../x',
    'a/..',
    'a\0b',
    './a',
    'a//b',
    'a/',
    '.',
    'x'.repeat(256),
    '\ud800',
  ])('the path %j is refused, and nothing is written', async (path) => {
    expect(await codeOf(() => put('good.txt', path))).toBe('INVALID_PATH')
    expect(readdirSync(place)).toEqual([])
  })

  it('two inputs with one place are refused', async () => {
    for (const paths of [
      ['a', 'a'],
      ['a', 'a/b'],
      ['a/b', 'a'],
    ])
      expect(await codeOf(() => put(...paths))).toBe('INVALID_PATH')
    expect(readdirSync(place)).toEqual([])
  })

  it('a link on the way is refused, and nothing is written', async () => {
    symlinkSync(ground.outside, join(place, 'out'))
    symlinkSync(join(ground.outside, 'new'), join(place, 'leaf'))
    mkdirSync(join(place, 'directory'))
    for (const path of ['out/new', 'leaf', 'directory', 'out'])
      expect(await codeOf(() => put('good.txt', path)), path).toBe('INVALID_PATH')
    expect(readdirSync(place).toSorted()).toEqual(['directory', 'leaf', 'out'])
    expect(readdirSync(ground.outside)).toEqual(['workspace'])
  })

  it('a file with another name elsewhere is replaced and not written through', async () => {
    const elsewhere = join(ground.outside, 'elsewhere')
    writeFileSync(elsewhere, 'kept')
    linkSync(elsewhere, join(place, 'a.txt'))
    await put('a.txt')
    expect(readFileSync(elsewhere, 'utf8')).toBe('kept')
    expect(readFileSync(join(place, 'a.txt'), 'utf8')).toBe('of a.txt')
  })

  it('wait with their exec until it begins, and change nothing before', async () => {
    await put('a.txt')
    await keep([{ path: 'a.txt', content: 'new' }])
    expect(readFileSync(join(place, 'a.txt'), 'utf8')).toBe('of a.txt')
    await placeInputs(ground.root, row)
    expect(readFileSync(join(place, 'a.txt'), 'utf8')).toBe('new')
    expect(readdirSync(execPlace(ground.root, row))).toEqual(['files'])
  })

  it('that were put in their places by halves are put there by whoever begins the exec next', async () => {
    await keep(['a.txt', 'b/c.txt'].map((path) => ({ path, content: `new ${path}` })))
    renameSync(join(execPlace(ground.root, row), '.inputs/a.txt'), join(place, 'a.txt'))
    await placeInputs(ground.root, row)
    await placeInputs(ground.root, row)
    expect(readFileSync(join(place, 'a.txt'), 'utf8')).toBe('new a.txt')
    expect(readFileSync(join(place, 'b/c.txt'), 'utf8')).toBe('new b/c.txt')
  })

  it('are put nowhere through a link that came on their way meanwhile', async () => {
    await keep([{ path: 'out/new', content: 'new' }])
    symlinkSync(ground.outside, join(place, 'out'))
    expect(await codeOf(() => placeInputs(ground.root, row))).toBe('INVALID_PATH')
    expect(readdirSync(ground.outside)).toEqual(['workspace'])
  })

  it('whatever is not refused is one file below inputs/', () => {
    const part = fc.constantFrom('..', '.', '', 'a', 'b', '/', '\0')
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const path = parts.join('/')
        try {
          const [checked] = checkInputs([{ path, content: '' }])
          expect(join(place, ...(checked?.names ?? [])).startsWith(`${place}/`)).toBe(true)
          expect(checked?.names.join('/')).toBe(path)
        } catch (error) {
          expect(isGloveboxError(error) && error.code).toBe('INVALID_PATH')
        }
      }),
    )
  })
})
