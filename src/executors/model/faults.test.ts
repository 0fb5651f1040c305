import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFault, readRetryAfter, retryDelay, StalledError } from './faults.ts'

const clean = (text: string): string => text
const now = Date.parse('2026-01-01T00:00:00Z')
const read = (error: unknown) => readFault(error, clean, now)

describe('readFault', () => {
  it.each([408, 409, 425, 429, 500, 502, 503, 529])('status %d may pass', (statusCode) => {
    expect(read({ statusCode, message: 'no' })).toMatchObject({ status: statusCode, passing: true })
  })

  it.each([302, 400, 401, 403, 404, 413, 422])('status %d does not pass', (statusCode) => {
    expect(read({ statusCode, message: 'no' })).toMatchObject({ status: statusCode, passing: false })
  })

  it('a quota that is used up does not pass by waiting', () => {
    const responseBody = '{"error":{"code":"insufficient_quota"}}'
    expect(read({ statusCode: 429, message: 'quota', responseBody }).passing).toBe(false)
  })

  it('a lost connection may pass, however deep its cause is hidden, and also after a status of success', () => {
    const reset = Object.assign(new Error('read'), { code: 'ECONNRESET' })
    expect(read(new Error('Cannot connect', { cause: new Error('fetch failed', { cause: reset }) }))).toEqual({
      message: 'Cannot connect (ECONNRESET)',
      passing: true,
    })
    expect(read({ statusCode: 200, message: 'broken', cause: reset })).toEqual({
      message: 'broken (ECONNRESET)',
      passing: true,
    })
    expect(read(new TypeError('terminated')).passing).toBe(true)
    expect(read(new StalledError('nothing came')).passing).toBe(true)
  })

  it('an error inside the stream may pass, unless it is about the request', () => {
    expect(read({ type: 'overloaded_error', message: 'Overloaded' })).toEqual({ message: 'Overloaded', passing: true })
    expect(read({ type: 'invalid_request_error', message: 'bad' }).passing).toBe(false)
  })

  it('an error that nobody knows does not pass', () => {
    expect(read(new Error('surprise'))).toEqual({ message: 'surprise', passing: false })
  })

  it('the message is one bounded line, cleaned', () => {
    const fault = readFault(
      { statusCode: 500, message: `a\nkey ${'x'.repeat(5000)}` },
      (text) => text.replace('key', '-'),
      now,
    )
    expect(fault.message.startsWith('a - x')).toBe(true)
    expect(fault.message.length).toBeLessThanOrEqual(500)
  })
})

describe('readRetryAfter', () => {
  it('reads seconds, dates and milliseconds, and nothing else', () => {
    expect(readRetryAfter({ 'retry-after': '2' }, now)).toBe(2000)
    expect(readRetryAfter({ 'retry-after': '0.5' }, now)).toBe(500)
    expect(readRetryAfter({ 'retry-after-ms': '1500', 'retry-after': '9' }, now)).toBe(1500)
    expect(readRetryAfter({ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, now)).toBe(10_000)
    expect(readRetryAfter({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, now)).toBe(0)
    expect(readRetryAfter({ 'retry-after': 'soon' }, now)).toBeUndefined()
    expect(readRetryAfter({}, now)).toBeUndefined()
  })
})

describe('retryDelay', () => {
  const patience = { maxRetries: 4, retryDelayMs: 1000, maxRetryDelayMs: 6000 }
  const passing = { message: 'no', passing: true }

  it('doubles up to its bound, and lies between half and all of it', () => {
    const longest = [0, 1, 2, 3].map((retried) => retryDelay(passing, retried, patience, 0.9999))
    expect(longest).toEqual([1000, 2000, 4000, 6000])
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retried, chance) => {
          const grown = Math.min(6000, 1000 * 2 ** retried)
          expect(retryDelay(passing, retried, patience, chance)).toBeGreaterThanOrEqual(grown / 2)
          expect(retryDelay(passing, retried, patience, chance)).toBeLessThanOrEqual(grown)
        },
      ),
    )
  })

  it('ends after so many repetitions, and does not begin for what does not pass', () => {
    expect(retryDelay(passing, 4, patience, 0)).toBeUndefined()
    expect(retryDelay({ ...passing, passing: false }, 0, patience, 0)).toBeUndefined()
    expect(retryDelay(passing, 0, { ...patience, maxRetries: 0 }, 0)).toBeUndefined()
  })

  it('is never shorter than the provider wishes, and gives up where that is too long', () => {
    expect(retryDelay({ ...passing, retryAfterMs: 5000 }, 0, patience, 0)).toBe(5000)
    expect(retryDelay({ ...passing, retryAfterMs: 1 }, 0, patience, 0)).toBe(500)
    expect(retryDelay({ ...passing, retryAfterMs: 6001 }, 0, patience, 0)).toBeUndefined()
  })
})
