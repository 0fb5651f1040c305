import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asPaused, asRenewed, endOf, pausedForMs, standingOf } from './life.ts'
import { firstRecord } from './request.ts'

const defaults = { backend: 'bwrap', layout: 'workspace', lifeMs: 60_000 } as const
const begun = (atEnd: 'destroy' | 'pause') => firstRecord('sbx_0123456789abcdef', null, { atEnd }, defaults)
const hour = 3_600_000

describe('the life of a member', () => {
  it('ends at its time, or turns into rest where that was asked for', () => {
    const now = Date.now()
    expect(standingOf(begun('destroy'), { now })).toBe('live')
    expect(standingOf(begun('destroy'), { now: now + hour })).toBe('over')
    expect(standingOf(begun('pause'), { now: now + hour })).toBe('paused')
    expect(standingOf(begun('pause'), { now: now + pausedForMs + hour })).toBe('over')
  })

  it('stands still while it is paused, and begins anew', () => {
    const now = Date.now()
    const paused = asPaused(begun('destroy'), { now })
    expect(standingOf(paused, { now: now + 20 * hour })).toBe('paused')
    expect(standingOf(paused, { now: now + pausedForMs + 1 })).toBe('over')
    const awake = asRenewed(paused, { now: now + 20 * hour })
    expect(standingOf(awake, { now: now + 20 * hour + 59_000 })).toBe('live')
    expect(standingOf(awake, { now: now + 20 * hour + 61_000 })).toBe('over')
  })

  it('renewed at any moment it lives for exactly the time that was given', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 0, max: 1e12 }), (lifeMs, later) => {
        const now = Date.now() + later
        const renewed = asRenewed(begun('destroy'), { lifeMs, now })
        expect(standingOf(renewed, { now: now + lifeMs - 1 })).toBe('live')
        expect(standingOf(renewed, { now: now + lifeMs })).toBe('over')
      }),
    )
  })

  it('is over at its age, whatever was done before: renewed, paused and taken up again at any moments', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 5 * hour }),
      lifeMs: fc.integer({ min: 1, max: 24 * hour }),
      what: fc.constantFrom('renew', 'pause', 'resume'),
    })
    const maxAgeMs = 48 * hour
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom('destroy', 'pause'), (steps, atEnd) => {
        let record = begun(atEnd)
        const oldest = Date.parse(record.created_at) + maxAgeMs
        let now = Date.parse(record.created_at)
        for (const { afterMs, lifeMs, what } of steps) {
          now += afterMs
          if (standingOf(record, { now, maxAgeMs }) === 'over') break
          expect(now).toBeLessThan(oldest)
          if (what === 'pause') record = asPaused(record, { now, maxAgeMs })
          else record = asRenewed(record, { now, maxAgeMs, ...(what === 'renew' ? { lifeMs } : {}) })
          expect(endOf(record)).toBeLessThanOrEqual(oldest)
        }
        expect(standingOf(record, { now: oldest, maxAgeMs })).toBe('over')
      }),
    )
  })

  it('has an age that holds for a record of a time when more was allowed, and none where none was set', () => {
    const now = Date.now()
    const paused = asPaused(begun('destroy'), { now })
    expect(standingOf(paused, { now: now + 2 * hour, maxAgeMs: hour })).toBe('over')
    expect(endOf(paused, hour)).toBe(Date.parse(paused.created_at) + hour)
    expect(standingOf(asRenewed(paused, { now: now + 1e12 }), { now: now + 1e12 })).toBe('live')
  })
})
