// Whoever is inside a sandbox tries to get a wider one there. Policies are joined before a backend is asked.
import { describe, expect, it } from 'vitest'
import type { OperatorPolicy, ResolvedPolicy } from '../../src/contract/policy.ts'
import { resolvePolicy } from '../../src/policy/resolve.ts'
import { aboveCeilings, layer } from './ceilings.ts'

const escalation: unknown = expect.objectContaining({ code: 'POLICY_ESCALATION' })

describe('policy of a sandbox inside a sandbox', () => {
  const parent = resolvePolicy([layer('settings', { protect: ['deploy'], denyRead: ['/workspace/keys'] })]).effective
  const inside = (...values: readonly OperatorPolicy[]): ResolvedPolicy =>
    resolvePolicy(
      values.map((each) => layer('settings', each)),
      { parentCeilings: parent },
    )

  it('a sandbox inside a sandbox is never wider than its parent', () => {
    const wider: readonly OperatorPolicy[] = [
      ...aboveCeilings,
      ...aboveCeilings.map((ceilings) => ({ ceilings })),
      { timeoutMs: parent.timeoutMs + 1 },
      { pids: parent.pids + 1 },
      { env: ['SECRET'] },
      { unprotect: ['.git'] },
    ]
    for (const ask of wider) {
      expect(() => inside(ask), JSON.stringify(ask)).toThrow(escalation)
      // Control: the operator of a sandbox that nothing surrounds is obeyed.
      expect(() => resolvePolicy([layer('settings', ask)]), JSON.stringify(ask)).not.toThrow()
    }
    const { effective } = inside({ protect: [], denyRead: [], timeoutMs: 1000 })
    expect(effective.timeoutMs).toBe(1000)
    expect(effective.protect).toEqual(expect.arrayContaining(['deploy', '.git/hooks']))
    expect(effective.denyRead).toEqual(['/workspace/keys'])
  })
})
