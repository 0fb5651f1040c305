import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EffectivePolicy, LayerName, OperatorPolicy, PolicyLayer } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { policyFields } from './fields.ts'
import { resolvePolicy, type ResolveOptions } from './resolve.ts'

const layer = (name: LayerName, values: OperatorPolicy): PolicyLayer => ({ layer: name, source: name, values })
const settings = (values: OperatorPolicy): PolicyLayer => layer('settings', values)
const request = (values: OperatorPolicy): PolicyLayer => layer('request', values)
const skill = (values: OperatorPolicy): PolicyLayer => layer('skill', values)
const untyped = (values: unknown): OperatorPolicy => values as OperatorPolicy

// Generated policies stay within the absolute bounds, so that what is refused is refused for its width.
const hosts = fc.subarray(['a.example', 'b.example', 'c.example:8443', 'd.example'])
const network = fc.oneof(
  fc.constant({ mode: 'none' as const }),
  fc.constant({ mode: 'full' as const }),
  hosts.map((allow) => ({ mode: 'allowlist' as const, allow })),
)
const amount = (most: number): fc.Arbitrary<number> => fc.integer({ min: 1, max: most })
const ceilingFields = {
  network,
  timeoutMs: amount(900_000),
  maxStdoutBytes: amount(30_000_000),
  maxStderrBytes: amount(30_000_000),
  maxArtifactsBytes: amount(600_000_000),
  memoryMb: amount(12_000),
  cpuCores: fc.double({ min: 0.01, max: 12, noNaN: true }),
  pids: amount(1500),
  fileSizeMb: amount(40_000),
  tmpMb: amount(6000),
  shmMb: amount(3000),
  delete: fc.boolean(),
}
const valueFields = {
  ...ceilingFields,
  env: fc.subarray(['A', 'B', 'C']),
  protect: fc.subarray(['Makefile', 'deploy/keys', '.git/hooks']),
  denyRead: fc.subarray(['/workspace/x', '/workspace/y']),
}
/** Few fields to a layer, or nearly every sequence would be refused and the laws would hold over nothing. */
const few = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> =>
  fc
    .subarray(Object.keys(fields) as (keyof T)[], { maxLength: 2 })
    .chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, fields[key]])) as typeof fields))

const operatorValues: fc.Arbitrary<OperatorPolicy> = fc
  .record({ own: few(valueFields), ceilings: few(ceilingFields), unprotect: fc.subarray(['.git', '.vscode']) })
  .map(({ own, ceilings, unprotect }) => ({ ...own, ceilings, unprotect }))
const operatorLayers = fc.array(
  operatorValues.map((one) => settings(one)),
  { maxLength: 3 },
)
const askedLayers = fc.array(
  few(valueFields).chain((one) => fc.constantFrom(request(one), skill(one))),
  { minLength: 1, maxLength: 3 },
)

type Outcome = { readonly policy: EffectivePolicy; readonly ceilings: Partial<EffectivePolicy> } | undefined

function outcome(layers: readonly PolicyLayer[], options?: ResolveOptions): Outcome {
  try {
    const { effective, ceilings } = resolvePolicy(layers, options)
    return { policy: effective, ceilings }
  } catch (error) {
    if (error instanceof GloveboxError && /^(POLICY_ESCALATION|INVALID_SETTINGS)$/.test(error.code)) return undefined
    throw error
  }
}

const numberFields = [
  'timeoutMs',
  'maxStdoutBytes',
  'maxStderrBytes',
  'maxArtifactsBytes',
  'memoryMb',
  'cpuCores',
  'pids',
  'fileSizeMb',
  'tmpMb',
  'shmMb',
] as const
const modes = ['none', 'allowlist', 'full']

/** Written apart from the table under test, so that a wrong comparison there shows here. */
function expectWithin(policy: EffectivePolicy, ceilings: Partial<EffectivePolicy>): void {
  for (const field of numberFields) expect(policy[field]).toBeLessThanOrEqual(ceilings[field] ?? 0)
  expect(policy.delete && !ceilings.delete).toBe(false)
  expect(ceilings.env).toEqual(expect.arrayContaining([...policy.env]))
  const most = ceilings.network ?? { mode: 'none', allow: [] }
  expect(modes.indexOf(policy.network.mode)).toBeLessThanOrEqual(modes.indexOf(most.mode))
  if (policy.network.mode === 'allowlist' && most.mode === 'allowlist') {
    expect(most.allow).toEqual(expect.arrayContaining([...policy.network.allow]))
  }
}

/** Runs a law over generated layers and fails when too few of them got as far as the law. */
function holds<T extends unknown[]>(
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  law: (...given: T) => boolean,
): void {
  const runs = 600
  let reached = 0
  fc.assert(
    fc.property(fc.tuple<T>(...arbitraries), (given) => {
      if (law(...given)) reached += 1
    }),
    { numRuns: runs },
  )
  expect(reached).toBeGreaterThan(runs / 10)
}

describe('for all layers', () => {
  it('no sequence of skill and request layers passes or moves a ceiling', () => {
    holds([operatorLayers, askedLayers], (operator, asked) => {
      const before = outcome(operator)
      const after = outcome([...operator, ...asked])
      if (before === undefined) expect(after).toBeUndefined()
      if (before === undefined || after === undefined) return false
      expect(after.ceilings).toEqual(before.ceilings)
      expectWithin(after.policy, before.ceilings)
      expect(after.policy.protect).toEqual(expect.arrayContaining([...before.policy.protect]))
      expect(after.policy.denyRead).toEqual(expect.arrayContaining([...before.policy.denyRead]))
      return true
    })
  })

  it.each([...numberFields, 'network', 'delete', 'env'] as const)(
    '%s: a request is refused exactly when it is above the ceiling',
    (field) => {
      const one = (valueFields[field] as fc.Arbitrary<unknown>).map((value) => untyped({ [field]: value }))
      let refused = 0
      fc.assert(
        fc.property(one, one, (granted, asked) => {
          const { ceilings } = resolvePolicy([settings(granted)])
          const after = outcome([settings(granted), request(asked)])
          const wanted = { ...resolvePolicy([]).effective, env: [], ...normalised(asked) }
          const within = (): void => expectWithin(wanted, ceilings)
          if (after === undefined) {
            refused += 1
            expect(within).toThrow()
          } else {
            expect(within).not.toThrow()
            expect(after.policy[field]).toEqual(wanted[field])
          }
        }),
        { numRuns: 200 },
      )
      expect(refused).toBeGreaterThan(10)
      expect(refused).toBeLessThan(190)
    },
  )

  it('the value is within the ceiling after any sequence of settings', () => {
    holds([operatorLayers], (operator) => {
      const after = outcome(operator)
      if (after === undefined) return false
      expectWithin(after.policy, after.ceilings)
      return true
    })
  })

  it('no sequence of layers at all is wider than the parent', () => {
    const wide: OperatorPolicy = {
      ...Object.fromEntries(numberFields.map((field) => [field, field === 'cpuCores' ? 9 : 1_000_000])),
      network: { mode: 'full' },
      delete: true,
      env: ['A', 'B'],
    }
    holds([operatorLayers, operatorLayers, askedLayers], (outer, inner, asked) => {
      const parent = outcome([settings(wide), ...outer])
      const gentle = inner.map((one) => settings({ ...one.values, unprotect: [] }))
      const child = parent && outcome([...gentle, ...asked], { parentCeilings: parent.policy })
      if (parent === undefined || child === undefined) return false
      expectWithin(child.policy, parent.policy)
      expect(child.policy.protect).toEqual(expect.arrayContaining([...parent.policy.protect]))
      expect(child.policy.denyRead).toEqual(expect.arrayContaining([...parent.policy.denyRead]))
      return true
    })
  })

  it('the order of keys is irrelevant', () => {
    const reversed = (record: OperatorPolicy): OperatorPolicy =>
      untyped(Object.fromEntries(Object.entries(record).toReversed()))
    holds([operatorValues], (one) => {
      const after = outcome([settings(one)])
      expect(outcome([settings(reversed(one))])).toEqual(after)
      return after !== undefined
    })
  })

  it('resolve neither changes nor keeps what it is given', () => {
    holds([operatorValues], (generated) => {
      const given = structuredClone(generated)
      const first = outcome([settings(given)])
      expect(given).toEqual(generated)
      given.env?.push('LATER')
      given.denyRead?.push('/later')
      given.protect?.push('later')
      given.network?.allow?.push('later.example')
      expect(first).toEqual(outcome([settings(generated)]))
      return first !== undefined
    })
  })

  it('explain lists every field exactly once, with the effective value', () => {
    holds([operatorLayers], (operator) => {
      if (outcome(operator) === undefined) return false
      const { explained, effective } = resolvePolicy(operator)
      expect(explained.map(({ field }) => field)).toEqual(policyFields)
      for (const { field, value } of explained) expect(value).toEqual(effective[field])
      return true
    })
  })
})

function normalised(asked: OperatorPolicy): Partial<EffectivePolicy> {
  if (asked.network === undefined) return asked as Partial<EffectivePolicy>
  return { network: { mode: asked.network.mode, allow: asked.network.allow ?? [] } }
}
