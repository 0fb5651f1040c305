import { describe, expect, it } from 'vitest'
import type { SandboxManifest } from '../../../contract/artifact.ts'
import type { OperatorPolicy, PolicyLayer } from '../../../contract/policy.ts'
import { resolvePolicy } from '../../../policy/resolve.ts'
import { policyAgain } from './policy.ts'

type Row = SandboxManifest['policy'][number]

const settings = (values: OperatorPolicy): readonly PolicyLayer[] => [{ layer: 'settings', source: 'test', values }]

/** What a run under these settings would have recorded. */
const recordOf = (values: OperatorPolicy): readonly Row[] =>
  resolvePolicy(settings(values)).explained.map(({ field, value, from, ceiling }) => ({
    field,
    value: JSON.parse(JSON.stringify(value)) as Row['value'],
    layer: from.layer,
    source: from.source,
    ceiling: JSON.parse(JSON.stringify(ceiling?.value ?? null)) as Row['ceiling'],
    ceiling_layer: ceiling?.from.layer ?? null,
  }))

const effective = (layers: readonly PolicyLayer[]) => resolvePolicy(layers).effective

describe('policyAgain', () => {
  it('adds nothing for a run with the defaults, so that nothing becomes a demand', () => {
    expect(policyAgain(recordOf({}), { layers: [], asRecorded: false })).toEqual({ layers: [], remarks: [] })
  })

  it('asks for the recorded values within the ceilings', () => {
    const { layers, remarks } = policyAgain(recordOf({ timeoutMs: 90_000, memoryMb: 2048, protect: ['secrets'] }), {
      layers: [],
      asRecorded: false,
    })
    expect(layers.map(({ layer }) => layer)).toEqual(['request'])
    expect(effective(layers)).toMatchObject({ timeoutMs: 90_000, memoryMb: 2048 })
    expect(effective(layers).protect).toContain('secrets')
    expect(remarks).toEqual([])
  })

  it('a record that asks for more than the operator allows is refused', () => {
    for (const values of [
      { network: { mode: 'full' } },
      { env: ['AWS_SECRET_ACCESS_KEY'] },
      { memoryMb: 100_000 },
      { delete: true },
    ] satisfies OperatorPolicy[]) {
      const again = () => policyAgain(recordOf(values), { layers: [], asRecorded: false })
      expect(again).toThrowError(expect.objectContaining({ code: 'POLICY_ESCALATION' }) as Error)
    }
  })

  it("takes what the operator's own settings allow", () => {
    const recorded = recordOf({ network: { mode: 'full' } })
    const { layers } = policyAgain(recorded, {
      layers: settings({ ceilings: { network: { mode: 'full' } } }),
      asRecorded: false,
    })
    expect(effective(layers).network.mode).toBe('full')
  })

  it('gives the record all that it asks for when the operator says so, with its ceilings and what it gave up', () => {
    const values = {
      network: { mode: 'full' },
      ceilings: { timeoutMs: 900_000 },
      unprotect: ['.vscode'],
    } satisfies OperatorPolicy
    const { layers, remarks } = policyAgain(recordOf(values), { layers: [], asRecorded: true })
    const again = resolvePolicy(layers)
    expect(again.effective.network.mode).toBe('full')
    expect(again.ceilings.timeoutMs).toBe(900_000)
    expect(again.effective.protect.toSorted()).toEqual(effective(settings(values)).protect.toSorted())
    expect(remarks).toEqual([])
  })

  it('says where the operator protects more now than was protected then', () => {
    const { remarks } = policyAgain(recordOf({}), { layers: settings({ protect: ['keys'] }), asRecorded: false })
    expect(remarks).toHaveLength(1)
    expect(remarks[0]).toMatch(/^protect is not what it was/)
  })

  it('refuses a field that it does not know', () => {
    const [row] = recordOf({})
    const rows = row === undefined ? [] : [{ ...row, field: 'gravity' }]
    expect(() => policyAgain(rows, { layers: [], asRecorded: true })).toThrowError(/gravity/)
  })
})
