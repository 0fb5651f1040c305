import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GuestPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { fromBase64, toBase64 } from './base64.ts'
import { countLines, sliceLines, tailStart } from './lines.ts'
import { countOccurrences, separateOccurrences } from './occurrences.ts'
import { replaceIn } from './replace.ts'
import { decodeText, encodeText, wholeCharactersEnd, wholeCharactersStart } from './strict.ts'
import { viewRange, viewTail } from './view.ts'
import { matchesWildcard } from './wildcard.ts'

const path = '/workspace/a.txt' as GuestPath
const bytes = (text: string): Uint8Array => encodeText(text)
const wellFormed = fc.string({ unit: 'binary' })
const few = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 })

const codeOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return error instanceof GloveboxError ? error.code : 'not ours'
  }
  return 'no error'
}

describe('strict text', () => {
  it('survives a round trip with its byte order mark and carriage returns', () => {
    const text = '\uFEFFone\r\ntwo\r\n'
    expect(bytes(decodeText(bytes(text), path))).toEqual(bytes(text))
    expect(decodeText(bytes(text), path)).toBe(text)
  })

  it('reports what is not UTF-8 and what holds NUL instead of mangling it', () => {
    expect(codeOf(() => decodeText(Uint8Array.of(0x61, 0xff), path))).toBe('NOT_TEXT')
    expect(codeOf(() => decodeText(Uint8Array.of(0x61, 0), path))).toBe('NOT_TEXT')
  })

  it('never cuts inside a character', () => {
    fc.assert(
      fc.property(wellFormed, fc.nat(60), (text, at) => {
        const encoded = bytes(text.replaceAll('\0', ''))
        const place = Math.min(at, encoded.length)
        const end = wholeCharactersEnd(encoded, place)
        const start = wholeCharactersStart(encoded, place)
        expect(place - end).toBeLessThan(4)
        expect(start - place).toBeLessThan(4)
        expect(() => decodeText(encoded.subarray(0, end), path)).not.toThrow()
        expect(() => decodeText(encoded.subarray(start), path)).not.toThrow()
      }),
    )
  })
})

describe('lines', () => {
  const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

  it('counts and slices as a reader would', () => {
    fc.assert(
      fc.property(few, fc.integer({ min: 1, max: 12 }), fc.nat(12), (text, first, more) => {
        const all = linesOf(text)
        expect(countLines(bytes(text))).toBe(all.length)
        const slice = sliceLines(bytes(text), first, first + more)
        const wanted = all.slice(first - 1, first + more).join('')
        if (first > Math.max(1, all.length)) expect(slice).toBeUndefined()
        else expect(text.slice(slice?.start, slice?.end)).toBe(wanted)
      }),
    )
  })

  it('finds where the last lines begin', () => {
    fc.assert(
      fc.property(few, fc.integer({ min: 1, max: 12 }), (text, count) => {
        const all = linesOf(text)
        const start = tailStart(bytes(text), count)
        expect(text.slice(start ?? 0)).toBe(all.slice(-count).join(''))
      }),
    )
  })
})

describe('views', () => {
  const range = (text: string, startLine: number, endLine?: number, maxBytes = 1000, more = false) => {
    const view = viewRange(bytes(text), { path, startLine, endLine, maxBytes, more })
    return { ...view, text: Buffer.from(bytes(text).subarray(view.start, view.end)).toString() }
  }

  it('shows a range with its line numbers, and past the end up to the end', () => {
    expect(range('a\nb\nc\n', 2, 3)).toMatchObject({ text: 'b\nc\n', startLine: 2, endLine: 3, truncated: false })
    expect(range('a\nb\nc', 2, 99)).toMatchObject({ text: 'b\nc', endLine: 3, truncated: false })
    expect(range('', 1)).toMatchObject({ text: '', startLine: 1, endLine: 0, truncated: false })
  })

  it('says when bytes were cut, between characters', () => {
    expect(range('aé\nb', 1, undefined, 2)).toMatchObject({ text: 'a', endLine: 1, truncated: true })
  })

  it('tells a line beyond the end from a line beyond the scan', () => {
    expect(codeOf(() => range('a\nb\n', 3))).toBe('INVALID_INPUT')
    expect(codeOf(() => range('a\nb\n', 3, undefined, 10, true))).toBe('TOO_LARGE')
  })

  it('knows a range as cut when the file goes on and the range is not full', () => {
    expect(range('a\nb', 1, 5, 100, true).truncated).toBe(true)
    expect(range('a\nb', 1, 1, 100, true).truncated).toBe(false)
  })

  it('shows the last lines, numbered when the beginning is known', () => {
    const text = bytes('a\nb\nc\n')
    expect(viewTail(text, { lines: 2, maxBytes: 100, fromBeginning: true })).toMatchObject({
      start: 2,
      startLine: 2,
      endLine: 3,
    })
    expect(viewTail(text, { lines: 9, maxBytes: 100, fromBeginning: true })).toMatchObject({
      start: 0,
      truncated: false,
    })
    expect(viewTail(text, { lines: 9, maxBytes: 100, fromBeginning: false })).toMatchObject({ truncated: true })
    expect(viewTail(text, { lines: 3, maxBytes: 3, fromBeginning: true })).toMatchObject({ start: 3, truncated: true })
  })
})

describe('replacement', () => {
  const replace = (text: string, oldText: string, newText: string, all = false, maxBytes = 1000) =>
    Buffer.from(replaceIn(bytes(text), { path, oldText, newText, all, maxBytes }).bytes).toString()

  it('agrees with split and join on any text', () => {
    fc.assert(
      fc.property(
        few,
        few.filter((text) => text !== ''),
        fc.string({ unit: fc.constantFrom('$', '&', '`', 'x') }),
        (text, old, fresh) => {
          fc.pre(text.includes(old))
          expect(replace(text, old, fresh, true, 10_000)).toBe(text.split(old).join(fresh))
        },
      ),
    )
  })

  it('counts occurrences as a naive search does, overlapping ones too', () => {
    fc.assert(
      fc.property(
        few,
        few.filter((text) => text !== ''),
        (text, old) => {
          const naive = Array.from(text, (_, at) => text.startsWith(old, at)).filter(Boolean).length
          expect(countOccurrences(bytes(text), bytes(old))).toBe(naive)
          expect(separateOccurrences(bytes(text), bytes(old)).length).toBe(text.split(old).length - 1)
        },
      ),
    )
  })

  it('takes $& and friends as plain text', () => {
    expect(replace('a b c', 'b', "$& $1 $` $'")).toBe("a $& $1 $` $' c")
  })

  it('tells a text that is not there from one that is there twice, with the count', () => {
    expect(codeOf(() => replace('abc', 'x', 'y'))).toBe('TEXT_NOT_FOUND')
    expect(() => replace('a a a', 'a', 'y')).toThrow(/3 times/)
    expect(codeOf(() => replace('aaa', 'aa', 'y'))).toBe('TEXT_NOT_UNIQUE')
  })

  it('names other line ends as the likely cause', () => {
    const hintOf = (text: string, old: string): string => {
      try {
        replace(text, old, 'x')
      } catch (error) {
        return (error as GloveboxError).hint ?? ''
      }
      return ''
    }
    expect(hintOf('a\r\nb', 'a\nb')).toMatch(/line ends \(CRLF or LF\)/)
    expect(hintOf('a\nb', 'c')).toMatch(/copy the text exactly/)
  })

  it('refuses a result above the limit before making it', () => {
    expect(codeOf(() => replace('aaaa', 'a', 'xxxx', true, 15))).toBe('TOO_LARGE')
    expect(replace('aaaa', 'a', 'xxxx', true, 16)).toHaveLength(16)
  })

  it('stays linear on repetitive text', () => {
    const text = 'a'.repeat(2_000_000)
    const started = performance.now()
    expect(codeOf(() => replace(text, `b${'a'.repeat(50_000)}`, 'x', false, 1e9))).toBe('TEXT_NOT_FOUND')
    // In the square of its length it would take minutes.
    expect(performance.now() - started).toBeLessThan(15_000)
  })
})

describe('wildcards and base64', () => {
  it('match as the equivalent regular expression does', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }), pattern, (name, glob) => {
        const regex = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`)
        expect(matchesWildcard(name, glob)).toBe(regex.test(name))
      }),
    )
  })

  it('carry any bytes, and refuse what is not canonical', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (raw) => {
        expect(Uint8Array.from(fromBase64(toBase64(raw)))).toEqual(raw)
      }),
    )
    for (const bad of ['a', 'YQ', 'YQ==\n', '!!!!']) expect(codeOf(() => fromBase64(bad))).toBe('INVALID_INPUT')
  })
})
