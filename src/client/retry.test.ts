import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { customaryRetries, isPassing, pauseMs, retryAfterMs } from './retry.ts'

const rules = customaryRetries

describe('retries', () => {
  it('what no answer came to is tried again, and what was refused for good is not', () => {
    expect(isPassing({})).toBe(true)
    for (const status of [408, 429, 502, 503, 504]) expect(isPassing({ status }), String(status)).toBe(true)
    for (const status of [400, 401, 403, 404, 409, 410, 413, 422, 500, 507]) expect(isPassing({ status })).toBe(false)
  })

  it('a server that says that trying again is useless is believed', () => {
    expect(isPassing({ status: 429, retryable: false })).toBe(false)
    expect(isPassing({ status: 503, retryable: false })).toBe(false)
    expect(pauseMs({ status: 429, retryable: false, retryAfterMs: 1000 }, 0, rules, 0)).toBeUndefined()
  })

  it('a pause is never shorter than Retry-After, and never longer than the rules allow', () => {
    fc.assert(
      fc.property(fc.nat(4), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(30_000), (attempt, chance, asked) => {
        const pause = pauseMs({ status: 503, retryAfterMs: asked }, attempt, rules, chance) ?? Number.NaN
        expect(pause).toBeGreaterThanOrEqual(asked)
        expect(pause).toBeLessThanOrEqual(rules.longestMs)
      }),
    )
  })

  it('pauses grow, and differ by chance', () => {
    const middle = [0, 1, 2, 3, 4].map((attempt) => pauseMs({}, attempt, rules, 1))
    expect(middle).toEqual([200, 400, 800, 1600, 3200])
    expect(pauseMs({}, 0, rules, 0)).toBe(100)
  })

  it('after the last retry, or where the server asks for too long a pause, the caller is told', () => {
    expect(pauseMs({}, rules.retries, rules, 0)).toBeUndefined()
    expect(pauseMs({ status: 503, retryAfterMs: rules.longestMs + 1 }, 0, rules, 0)).toBeUndefined()
  })

  it('Retry-After is seconds or a date', () => {
    const now = Date.parse('2026-01-02T03:04:05Z')
    expect(retryAfterMs('7', now)).toBe(7000)
    expect(retryAfterMs('Fri, 02 Jan 2026 03:04:08 GMT', now)).toBe(3000)
    expect(retryAfterMs('Fri, 02 Jan 2026 03:04:00 GMT', now)).toBe(0)
    expect(retryAfterMs('soon', now)).toBeUndefined()
    expect(retryAfterMs(null, now)).toBeUndefined()
  })
})
