import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openRedaction, type LearningRedaction } from './redaction.ts'

const secret = 'tok+en/42?&=%41~Zé'
const mark = '[redacted:keys/token]'

function knowing(...values: readonly string[]): LearningRedaction {
  const redaction = openRedaction()
  values.forEach((value, index) =>
    redaction.learn(index === 0 ? 'keys/token' : `keys/more-${index}`, Buffer.from(value)),
  )
  return redaction
}

/** The stream cut at these places. */
function streamed(redaction: LearningRedaction, text: string, cuts: readonly number[]): string {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  const redactor = redaction.open()
  const parts = places.slice(1).map((end, index) => redactor.push(bytes.subarray(places[index], end)))
  return Buffer.concat([...parts, redactor.end()]).toString()
}

const basic = (before: string, after = ''): string => Buffer.from(`${before}${secret}${after}`).toString('base64')
const escapedWhole = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16)}`).join('')

const forms: readonly (readonly [string, string])[] = [
  ['as it is', secret],
  ['in base64', Buffer.from(secret).toString('base64')],
  ['in base64 without padding', Buffer.from(secret).toString('base64').replace(/=+$/, '')],
  ['in base64 with the line break of echo', Buffer.from(`${secret}\n`).toString('base64')],
  ['in base64url', Buffer.from(secret).toString('base64url')],
  [
    'in base64 wrapped to short lines',
    (
      Buffer.from(secret)
        .toString('base64')
        .match(/.{1,7}/g) ?? []
    ).join('\r\n'),
  ],
  ['in a URL', encodeURIComponent(secret)],
  ['in a URL with everything escaped', escapedWhole],
  ['in base64 in a URL', encodeURIComponent(Buffer.from(secret).toString('base64'))],
  ['in hex', Buffer.from(secret).toString('hex')],
  ['in JSON with escaped slashes', JSON.stringify(secret).replaceAll('/', '\\/').slice(1, -1)],
]

describe('redaction', () => {
  it.each(forms)('finds a value %s', (_, form) => {
    const shown = knowing(secret).text(`before ${form} after`)
    expect(shown).toContain(mark)
    expect(shown).not.toContain(form.slice(0, 12))
    expect(shown).toMatch(/^before .* after$/s)
  })

  it.each(['u:', 'ab:', 'abc:', 'longer name:'])(
    'finds a value in base64 behind "%s", whatever comes after it',
    (user) => {
      for (const after of ['', 'x', 'xy', 'xyz']) {
        const encoded = basic(user, after)
        const shown = knowing(secret).text(`Authorization: Basic ${encoded}`)
        expect(shown).toContain(mark)
        expect(Buffer.from(shown.replace(mark, ''), 'base64').includes(secret.slice(2, -2))).toBe(false)
      }
    },
  )

  it('finds a value wherever the stream is cut, in every form', () => {
    const redaction = knowing(secret)
    fc.assert(
      fc.property(
        fc.constantFrom(...forms.map(([, form]) => form), basic('u:'), basic('ab:', 'zz')),
        fc.array(fc.nat(), { maxLength: 30 }),
        fc.string(),
        fc.string(),
        (form, cuts, before, after) => {
          const whole = streamed(redaction, `${before} ${form} ${after}`, [])
          expect(streamed(redaction, `${before} ${form} ${after}`, cuts)).toBe(whole)
          expect(whole).toContain(mark)
          expect(whole).not.toContain(form)
        },
      ),
      cases(300),
    )
  })

  it('leaves everything else as it is, byte for byte', () => {
    const redaction = knowing(secret)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.array(fc.nat(), { maxLength: 10 }), (bytes, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
        const redactor = redaction.open()
        const parts = places
          .slice(1)
          .map((end, index) => Buffer.from(redactor.push(bytes.subarray(places[index], end))))
        expect(Buffer.concat([...parts, redactor.end()]).equals(bytes)).toBe(true)
      }),
    )
  })

  it('agrees with a plain search on small alphabets, where forms overlap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 8, maxLength: 12 }), {
          minLength: 1,
          maxLength: 3,
        }),
        fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 80 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (values, text, cuts) => {
          const shown = streamed(knowing(...values), text, cuts)
          expect(shown.replaceAll(/\[redacted:[^\]]*\]/g, '|')).toBe(plainly(values, text))
        },
      ),
      cases(500),
    )
  })

  it('redacts each line of a key in several lines, and leaves its head', () => {
    const key = '-----BEGIN KEY-----\nMIIabcdefghij\nQRSTUVWXYZ12\n-----END KEY-----\n'
    const shown = knowing(key).text('grep: QRSTUVWXYZ12 in -----BEGIN KEY-----')
    expect(shown).toBe(`grep: ${mark} in -----BEGIN KEY-----`)
  })

  it('passes on at once what cannot become a value', () => {
    const redactor = knowing('sesame-opens').open()
    expect(Buffer.from(redactor.push(Buffer.from('done: 100'))).toString()).toBe('done: 100')
    expect(Buffer.from(redactor.push(Buffer.from(' ses'))).toString()).toBe(' ')
    expect(Buffer.from(redactor.push(Buffer.from('sion\n'))).toString()).toBe('session\n')
  })

  it('shows a watcher what is held back where it tells nothing, and still finds the value', () => {
    const redactor = knowing('sesame-opens').open()
    expect(Buffer.from(redactor.push(Buffer.from('> s'))).toString()).toBe('> ')
    expect(Buffer.from(redactor.idle()).toString()).toBe('s')
    expect(Buffer.from(redactor.push(Buffer.from('esame-op'))).toString()).toBe('')
    expect(Buffer.from(redactor.idle()).toString()).toBe('')
    expect(Buffer.from(redactor.push(Buffer.from('ens!'))).toString()).toBe(`${mark}!`)
  })

  it('learns a value while a stream goes on, and finds it in what was held back', () => {
    const redaction = knowing('sesame-opens')
    const redactor = redaction.open()
    expect(Buffer.from(redactor.push(Buffer.from('sesame'))).toString()).toBe('')
    redaction.learn('keys/later', Buffer.from('sesame-closes'))
    expect(Buffer.from(redactor.push(Buffer.from('-closes.'))).toString()).toBe('[redacted:keys/later].')
  })

  it('redacts texts of any depth, and an error whole', () => {
    const redaction = knowing('sesame-opens')
    expect(redaction.json({ a: ['x sesame-opens'], 'sesame-opens': { b: 1 } })).toEqual({
      a: [`x ${mark}`],
      [mark]: { b: 1 },
    })
    const told = redaction.error(
      new GloveboxError('NOT_FOUND', 'Cannot read sesame-opens: it is not there', {
        hint: 'Not sesame-opens.',
        operatorDetail: '/x/sesame-opens',
        facts: { path: 'sesame-opens' },
        cause: new Error('sesame-opens'),
      }),
    )
    expect(JSON.stringify(told, Object.getOwnPropertyNames(told))).not.toContain('sesame')
    expect(told).toMatchObject({ code: 'NOT_FOUND', message: `Cannot read ${mark}: it is not there` })
  })

  it('keeps the length where somebody counts bytes of the source, wherever the stream is cut', () => {
    const redaction = knowing('sesame-opens')
    const text = Buffer.from('a sesame-opens b c2VzYW1lLW9wZW5z %73esame-opens c')
    for (let cut = 0; cut <= text.length; cut += 1) {
      const redactor = redaction.open({ sameLength: true })
      const parts = [redactor.push(text.subarray(0, cut)), redactor.push(text.subarray(cut)), redactor.end()]
      const shown = Buffer.concat(parts).toString()
      expect(shown).toBe(`a ${'*'.repeat(12)} b ${'*'.repeat(16)} ${'*'.repeat(14)} c`)
    }
  })

  it('does nothing as long as nothing was handed out', () => {
    const redaction = openRedaction()
    const chunk = Buffer.from('anything')
    expect(redaction.isActive).toBe(false)
    expect(redaction.open().push(chunk)).toBe(chunk)
  })
})

/** Every byte that lies in any value is taken out; gaps that touch without overlapping stay two. */
function plainly(values: readonly string[], text: string): string {
  const ranges = values
    .flatMap((value) => Array.from(text, (_, at) => (text.startsWith(value, at) ? [at, at + value.length] : [])))
    .filter((range) => range.length === 2)
    .toSorted(([a = 0], [b = 0]) => a - b)
  const merged: [number, number][] = []
  for (const [start = 0, end = 0] of ranges) {
    const last = merged.at(-1)
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  let at = 0
  let shown = ''
  for (const [start, end] of merged) {
    shown += `${text.slice(at, start)}|`
    at = end
  }
  return shown + text.slice(at)
}
