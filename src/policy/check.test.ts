import { describe, expect, it } from 'vitest'
import { checkNetwork } from './check.ts'

const rules = (count: number) => ({ mode: 'allowlist', allow: Array.from({ length: count }, (_, at) => `h${at}.x`) })

describe('the rules of a network', () => {
  it('are at most a thousand', () => {
    expect(checkNetwork(rules(1000), 'network').allow).toHaveLength(1000)
    expect(() => checkNetwork(rules(1001), 'network')).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', facts: { field: 'network.allow', fields: ['network.allow'] } }),
    )
  })

  it('are refused by the path at which their writer wrote them, whatever we call the layer', () => {
    const odd = { mode: 'allowlist', allow: ['a.x', 'b c'] }
    for (const layer of ['settings', 'request'])
      expect(() => checkNetwork(odd, `${layer}.network`)).toThrow(
        expect.objectContaining({
          facts: { field: `${layer}.network.allow[1]`, fields: ['policy.network.allow.1'] },
        }),
      )
  })
})
