import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asPaused, asRenewed, pausedForMs, standingOf } from './life.ts'
import { firstRecord } from './request.ts'

const defaults = { backend: 'bwrap', layout: 'workspace', lifeMs: 60_000 } as const
const begun = (atEnd: 'destroy' | 'pause') => firstRecord('sbx_0123456789abcdef', null, { atEnd }, defaults)
const hour = 3_600_000

describe('the life of a member', () => {
  it('ends at its time, or turns into rest where that was asked for', () => {
    const now = Date.now()
    expect(standingOf(begun('destroy'), now)).toBe('live')
    expect(standingOf(begun('destroy'), now + hour)).toBe('over')
    expect(standingOf(begun('pause'), now + hour)).toBe('paused')
    expect(standingOf(begun('pause'), now + pausedForMs + hour)).toBe('over')
  })

  it('stands still while it is paused, and begins anew', () => {
    const now = Date.now()
    const paused = asPaused(begun('destroy'), now)
    expect(standingOf(paused, now + 20 * hour)).toBe('paused')
    expect(standingOf(paused, now + pausedForMs + 1)).toBe('over')
    const awake = asRenewed(paused, undefined, now + 20 * hour)
    expect(standingOf(awake, now + 20 * hour + 59_000)).toBe('live')
    expect(standingOf(awake, now + 20 * hour + 61_000)).toBe('over')
  })

  it('renewed at any moment it lives for exactly the time that was given', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 0, max: 1e12 }), (lifeMs, later) => {
        const now = Date.now() + later
        const renewed = asRenewed(begun('destroy'), lifeMs, now)
        expect(standingOf(renewed, now + lifeMs - 1)).toBe('live')
        expect(standingOf(renewed, now + lifeMs)).toBe('over')
      }),
    )
  })
})
