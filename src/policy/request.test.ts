import { describe, expect, it } from 'vitest'
import { execLimits } from './request.ts'
import { resolvePolicy } from './resolve.ts'

const resolved = resolvePolicy([
  { layer: 'settings', source: 'glovebox.yaml', values: { timeoutMs: 2000, ceilings: { timeoutMs: 5000 } } },
])

describe('limits of one exec', () => {
  it('without a wish the policy of the sandbox holds', () => {
    expect(execLimits(resolved, {})).toEqual({ timeoutMs: 2000, maxStdoutBytes: 1_048_576, maxStderrBytes: 1_048_576 })
  })

  it('a wish up to the ceiling is granted as it is', () => {
    expect(execLimits(resolved, { timeoutMs: 5000, maxStdoutBytes: 7 })).toEqual({
      timeoutMs: 5000,
      maxStdoutBytes: 7,
      maxStderrBytes: 1_048_576,
    })
  })

  it('a wish above the ceiling is refused with the layer that set the ceiling, and not clamped', () => {
    expect(() => execLimits(resolved, { timeoutMs: 5001 }, 'commands.run')).toThrow(
      expect.objectContaining({
        code: 'POLICY_ESCALATION',
        facts: expect.objectContaining({
          field: 'timeoutMs',
          asked: 5001,
          allowed: 5000,
          ceilingFrom: { layer: 'settings', source: 'glovebox.yaml' },
          layer: 'request',
          source: 'commands.run',
        }),
      }),
    )
    expect(() => execLimits(resolved, { maxStderrBytes: 10_485_761 })).toThrow(
      expect.objectContaining({ code: 'POLICY_ESCALATION' }),
    )
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 1e12])('a timeout of %d is refused as input', (value) => {
    expect(() => execLimits(resolved, { timeoutMs: value })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })
})
