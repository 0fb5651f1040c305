import { describe, expect, it } from 'vitest'
import { bootTime } from './clock.ts'

/** A machine whose clocks are moved by hand. */
function machine() {
  const at = { awake: 0, asleep: 100_000, wall: 1_000_000 }
  let asked = 0
  const now = bootTime({
    bootMs: () => {
      asked += 1
      // As the kernel tells it.
      return Math.floor((at.awake + at.asleep) / 10) * 10
    },
    awakeMs: () => at.awake,
    wallMs: () => at.wall,
  })
  return {
    now,
    get asked() {
      return asked
    },
    pass(ms: number) {
      at.awake += ms
      at.wall += ms
    },
    sleep(ms: number) {
      at.asleep += ms
      at.wall += ms
    },
    set: (ms: number) => (at.wall += ms),
    get truth() {
      return at.awake + at.asleep
    },
  }
}

describe('the clock of leases', () => {
  it('goes on through a sleep of the machine, and tells so at the first question', () => {
    const { now, pass, sleep } = machine()
    const before = now()
    pass(3)
    sleep(3_600_000)
    expect(now() - before).toBeGreaterThanOrEqual(3_600_003 - 10)
  })

  it('asks the kernel once for many questions', () => {
    const clock = machine()
    for (let count = 0; count < 100; count += 1) {
      clock.now()
      clock.pass(1)
    }
    expect(clock.asked).toBe(1)
  })

  it('asks again after a second, and when somebody has set the wall clock', () => {
    const clock = machine()
    clock.now()
    clock.pass(1001)
    clock.now()
    expect(clock.asked).toBe(2)
    clock.set(-60_000)
    clock.now()
    expect(clock.asked).toBe(3)
  })

  it('never goes back, and is never further from the truth than the kernel tells it', () => {
    const clock = machine()
    let last = clock.now()
    for (let step = 0; step < 5000; step += 1) {
      clock.pass(0.7 + (step % 7))
      if (step % 501 === 0) clock.sleep(12_345.6)
      const now = clock.now()
      expect(now).toBeGreaterThanOrEqual(last)
      expect(Math.abs(clock.truth - now)).toBeLessThanOrEqual(10)
      last = now
    }
  })
})
