import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EffectivePolicy } from '../contract/policy.ts'
import { coversEnvironment, fitClaim, refuseWider } from './claim.ts'
import { resolvePolicy } from './resolve.ts'

const made = resolvePolicy([]).effective
const limits = ['memoryMb', 'cpuCores', 'pids', 'fileSizeMb'] as const

describe('fitClaim', () => {
  it('takes a member as it is where nothing differs but what our own side holds', () => {
    expect(fitClaim(made, { ...made, timeoutMs: 5, maxStdoutBytes: 9, maxStderrBytes: 9, delete: true })).toEqual({
      fits: 'as it is',
    })
  })

  it('narrows limits, and never widens them', () => {
    const factor = fc.double({ min: 0.05, max: 4, noNaN: true })
    fc.assert(
      fc.property(fc.tuple(factor, factor, factor, factor), (factors) => {
        const asked = Object.fromEntries(
          limits.map((field, index) => [field, made[field] * (factors[index] as number)]),
        )
        const fit = fitClaim(made, { ...made, ...asked })
        const isWider = limits.some((field) => (asked[field] as number) > made[field])
        expect(fit.fits === false).toBe(isWider)
        if (fit.fits === 'narrowed') expect(fit.to).toEqual(asked)
      }),
    )
  })

  it('takes no member whose walls stand elsewhere', () => {
    const others: readonly Partial<EffectivePolicy>[] = [
      { network: { mode: 'full', allow: [] } },
      { network: { mode: 'none', allow: ['example.com'] } },
      { tmpMb: made.tmpMb - 1 },
      { shmMb: made.shmMb - 1 },
      { env: ['SECRET'] },
      { protect: [...made.protect, 'more'] },
      { protect: made.protect.slice(1) },
      { denyRead: ['/workspace/secret'] },
    ]
    for (const other of others)
      expect(fitClaim(made, { ...made, ...other })).toEqual({ fits: false, because: Object.keys(other)[0] })
  })

  it('compares lists as sets', () => {
    expect(fitClaim(made, { ...made, protect: made.protect.toReversed() })).toEqual({ fits: 'as it is' })
  })

  it('a rule that nobody has thought about is a wall', () => {
    const tomorrow = { ...made, walls: 2 } as unknown as EffectivePolicy
    expect(fitClaim(made, tomorrow)).toEqual({ fits: false, because: 'walls' })
    expect(fitClaim(tomorrow, made)).toEqual({ fits: false, because: 'walls' })
  })

  it('takes what is no number for no limit', () => {
    for (const value of [Number.NaN, 0, -1, undefined])
      expect(fitClaim(made, { ...made, memoryMb: value as number })).toEqual({ fits: false, because: 'memoryMb' })
  })
})

describe('refuseWider', () => {
  it('lets less through and refuses more', () => {
    refuseWider(made, { ...made, pids: 1 })
    expect(() => refuseWider(made, { ...made, pids: made.pids + 1 })).toThrow('pids would be wider')
    expect(() => refuseWider(made, { ...made, cpuCores: Number.NaN })).toThrow('cpuCores would be wider')
  })
})

describe('coversEnvironment', () => {
  it('needs a value for each variable that the member was made with', () => {
    expect(coversEnvironment({ A: '1' }, { A: '2', B: '3' })).toBe(true)
    expect(coversEnvironment({ A: '1', C: '1' }, { A: '2' })).toBe(false)
    expect(coversEnvironment({ toString: '1' }, {})).toBe(false)
  })
})
