import { describe, expect, it } from 'vitest'
import type { Backend } from '../contract/backend.ts'
import { capabilityNames } from '../contract/capability.ts'
import { conformanceCases, conformanceGroups, reasonToSkip } from './index.ts'

const backend = (capabilities: Backend['capabilities']): Backend => ({ name: 'some', capabilities }) as Backend

describe('the conformance suite', () => {
  it('has at least 150 cases, each under a title of its own', () => {
    expect(conformanceCases.length).toBeGreaterThanOrEqual(150)
    expect(new Set(conformanceCases.map(({ title }) => title)).size).toBe(conformanceCases.length)
    expect(new Set(conformanceGroups.map(({ about }) => about)).size).toBe(conformanceGroups.length)
  })

  it('uses every capability in at least one case, so that none can be claimed unproved', () => {
    const proved = new Set(conformanceCases.flatMap(({ requires = [] }) => requires))
    // The first two are held by Glovebox itself above every backend, so their cases run everywhere.
    // Then what no backend has yet, which the suite proves to be refused; and what only forks of runs ask for, which
    // test/e2e/runs-fork.test.ts proves.
    const elsewhere = new Set(['timeout', 'output.bounded', 'network.allowlist', 'mount.layers'])
    expect(capabilityNames.filter((name) => !proved.has(name) && !elsewhere.has(name))).toEqual([])
  })

  it('names the missing capability when it skips', () => {
    const wanted = { title: 'x', requires: ['memory', 'cpu'], run: async () => {} } as const
    expect(reasonToSkip(backend({ memory: 'cgroup' }), wanted)).toBe('some does not enforce cpu')
    expect(reasonToSkip(backend({ memory: 'cgroup', cpu: 'cgroup' }), wanted)).toBeUndefined()
  })

  it('skips what is about a lack when nothing is lacking', () => {
    const wanted = { title: 'x', lacks: ['memory'], run: async () => {} } as const
    expect(reasonToSkip(backend({ memory: 'cgroup' }), wanted)).toBe('some enforces memory')
    expect(reasonToSkip(backend({}), wanted)).toBeUndefined()
  })
})
