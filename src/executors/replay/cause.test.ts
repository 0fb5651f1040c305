import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstDifference } from './bytes.ts'
import { likelyCause, type Seen } from './cause.ts'

const then = Date.parse('2026-03-01T10:20:30.000Z')
const now = Date.parse('2026-11-15T11:45:07.000Z')

function causeOf(was: string, is: string, options: { command?: string; notSupplied?: string[]; seen?: Seen } = {}) {
  const [one, other] = [Buffer.from(was), Buffer.from(is)]
  const evidence = {
    offset: firstDifference(one, other) ?? 0,
    original: { bytes: one, fromMs: then, toMs: then + 500 },
    replayed: { bytes: other, fromMs: now, toMs: now + 500 },
    command: options.command ?? '',
    notSupplied: options.notSupplied ?? [],
  }
  return likelyCause(evidence, options.seen ?? new Map(), '#1')
}

describe('likelyCause', () => {
  it.each([
    ['seconds since 1970', `at ${then / 1000}\n`, `at ${now / 1000}\n`],
    ['milliseconds', `${then}`, `${now}`],
    ['nanoseconds', `${then}123456`, `${now}654321`],
    ['a calendar time with its zone', 'x 2026-03-01T10:20:30Z y', 'x 2026-11-15T11:45:07Z y'],
    ['nanoseconds with a comma', '2026-03-01T10:20:30,123456789+00:00', '2026-11-15T11:45:07,987654321+00:00'],
    ['a calendar time of another zone', '2026-03-01 15:50:30', '2026-11-15 17:15:07'],
    ['the output of date', 'Sun Mar  1 10:20:30 UTC 2026', 'Sun Mar  1 11:45:07 UTC 2026'],
  ])('knows the time at which each side ran: %s', (_name, was, is) => {
    expect(causeOf(was, is)?.kind).toBe('time')
  })

  it('does not take two numbers for times because they are long', () => {
    expect(causeOf('id 1234567890', 'id 1334567890')).toBeNull()
    expect(causeOf('2001-01-01T00:00:00Z', '2002-01-01T00:00:00Z')).toBeNull()
  })

  it('knows values that were seen to differ before', () => {
    const seen: Seen = new Map([[JSON.stringify(['a1b2c3', 'd4e5f6']), '#7']])
    expect(causeOf('token=a1b2c3;', 'token=d4e5f6;', { seen })).toEqual({
      kind: 'earlier_difference',
      because: 'the same two values differ in #7',
    })
  })

  it('knows lines that were seen to differ before, where the words are too short to tell', () => {
    const seen: Seen = new Map()
    const [was, is] = [' b1 ea 05 cf\n', ' 01 57 4d 9b\n']
    expect(causeOf(was, is, { seen, command: 'od /dev/urandom' })?.kind).toBe('random')
    const again = { offset: 1, command: '', notSupplied: [] }
    const side = (text: string, ms: number) => ({ bytes: Buffer.from(text), fromMs: ms, toMs: ms })
    const evidence = { ...again, original: side(was, then), replayed: side(is, now) }
    expect(likelyCause(evidence, seen, '#2')?.because).toBe('the same two values differ in #1')
  })

  it('knows UUIDs and durations by their form', () => {
    const was = 'id 1c0e6b56-7a0f-4a5c-9d59-0d3ae3ba0a11'
    expect(causeOf(was, 'id 5d7f5c0e-94a1-4b43-8df4-6a4b21a9f001')?.kind).toBe('random')
    expect(causeOf('done in 31 ms', 'done in 44 ms')?.kind).toBe('duration')
  })

  it.each([
    ['date +%N', 'time'],
    ['head -c 8 /dev/urandom | od', 'random'],
    ['echo $RANDOM', 'random'],
    ['echo $$', 'process_id'],
  ])('falls back to what the command names, and says so: %s', (command, kind) => {
    const cause = causeOf('abc', 'xyz', { command })
    expect(cause?.kind).toBe(kind)
    expect(cause?.because).toMatch(/^the command names /)
  })

  it('claims nothing where two explanations stand against each other, or there is none', () => {
    expect(causeOf('abc', 'xyz', { command: 'date +%N; echo $$' })).toBeNull()
    expect(causeOf('abc', 'xyz', { command: 'cat update date.txt candidate' })).toBeNull()
    expect(causeOf('abc', 'xyz', { command: 'make' })).toBeNull()
  })

  it('names variables that were not supplied when nothing else is known', () => {
    expect(causeOf('abc', 'xyz', { notSupplied: ['TOKEN'] })).toEqual({
      kind: 'environment',
      because: 'not supplied: TOKEN',
    })
  })

  it('survives any two outputs', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.uint8Array({ maxLength: 600 }), (one, other) => {
        const offset = firstDifference(one, other) ?? 0
        const side = { fromMs: then, toMs: then }
        const evidence = { offset, original: { bytes: one, ...side }, replayed: { bytes: other, ...side } }
        const cause = likelyCause({ ...evidence, command: '', notSupplied: [] }, new Map(), '#1')
        expect([undefined, 'time', 'random', 'duration']).toContain(cause?.kind)
      }),
    )
  })
})
