// The policy of a recorded run, asked for once more. A record may come from anybody, so by itself it is a request under the
// ceilings of whoever replays it, and what goes beyond them is refused. Only the operator's own word makes it settings.
import type { SandboxManifest } from '../../../contract/artifact.ts'
import type { EffectivePolicy, PolicyField, PolicyLayer, ResolvedPolicy } from '../../../contract/policy.ts'
import { GloveboxError, isGloveboxError } from '../../../errors/error.ts'
import { isPolicyField } from '../../../policy/fields.ts'
import { resolvePolicy } from '../../../policy/resolve.ts'
import { canonical } from '../../../runs/fingerprint.ts'

type Row = SandboxManifest['policy'][number]

const source = 'sandbox-manifest.json'

export interface RecordedPolicyOptions {
  /** Of the operator who replays: settings and flags. */
  readonly layers: readonly PolicyLayer[]
  /** The operator gives the record all that it asks for. */
  readonly asRecorded: boolean
}

export interface PolicyAgain {
  readonly layers: readonly PolicyLayer[]
  /** Where what holds now is not what held then. */
  readonly remarks: readonly string[]
}

// SECURITY: a copied run directory cannot give itself a network, host variables or more than the operator's ceilings.
// src/runtime/runs/replay/policy: "a record that asks for more than the operator allows is refused"
export function policyAgain(rows: readonly Row[], { layers, asRecorded }: RecordedPolicyOptions): PolicyAgain {
  const recorded = rows.map(knownRow)
  const asked = askedLayer(recorded, resolvePolicy(layers), asRecorded ? 'settings' : 'request')
  const all = asked === undefined ? layers : [...layers, asked]
  return { layers: all, remarks: remarksOn(recorded, resolved(all)) }
}

type KnownRow = Row & { readonly field: PolicyField }

function knownRow(row: Row): KnownRow {
  if (isPolicyField(row.field)) return { ...row, field: row.field }
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot replay the run: nothing here knows its policy field "${row.field}"`,
    {
      hint: 'The run was recorded by another version. Replay it with that one.',
    },
  )
}

/** Nothing where the operator's own layers already say the same. */
function askedLayer(
  rows: readonly KnownRow[],
  now: ResolvedPolicy,
  layer: 'settings' | 'request',
): PolicyLayer | undefined {
  const values = rows
    .filter(({ field, value }) => !isSame(value, now.effective[field]))
    .map(({ field, value }) => [field, asLayerValue(value)] as const)
  const operatorOnly = layer === 'settings' ? ceilingsAndProtections(rows, now) : {}
  if (values.length === 0 && Object.keys(operatorOnly).length === 0) return undefined
  return { layer, source, values: { ...Object.fromEntries(values), ...operatorOnly } }
}

function ceilingsAndProtections(rows: readonly KnownRow[], now: ResolvedPolicy): PolicyLayer['values'] {
  const ceilings = rows
    .filter(({ field, ceiling }) => ceiling !== null && field !== 'env' && !isSame(ceiling, now.ceilings[field]))
    .map(({ field, ceiling }) => [field, asLayerValue(ceiling)] as const)
  const kept = rows.find(({ field }) => field === 'protect')?.value
  const unprotect = Array.isArray(kept) ? now.effective.protect.filter((name) => !kept.includes(name)) : []
  return {
    ...(ceilings.length === 0 ? {} : { ceilings: Object.fromEntries(ceilings) }),
    ...(unprotect.length === 0 ? {} : { unprotect }),
  }
}

/** What holds always has a list of hosts; in a layer it stands only where it means something. */
function asLayerValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('mode' in value)) return value
  return value.mode === 'allowlist' ? value : { mode: value.mode }
}

function resolved(layers: readonly PolicyLayer[]): ResolvedPolicy {
  try {
    return resolvePolicy(layers)
  } catch (error) {
    if (!isGloveboxError(error) || error.code !== 'POLICY_ESCALATION') throw error
    throw new GloveboxError(error.code, error.message, {
      facts: error.facts,
      hint: 'Allow it in glovebox.yaml; or, if you trust whoever recorded the run, say --as-recorded.',
    })
  }
}

const remarksOn = (rows: readonly KnownRow[], { effective }: ResolvedPolicy): readonly string[] =>
  rows
    .filter(({ field, value }) => !isSame(value, effective[field]))
    .map(({ field, value }) => `${field} is not what it was: ${told(value)} then, ${told(effective[field])} now`)

/** Lists are sets here: their order says nothing. */
const isSame = (one: unknown, other: EffectivePolicy[PolicyField] | undefined): boolean =>
  canonical(sorted(one)) === canonical(sorted(other ?? null))

const sorted = (value: unknown): unknown => (Array.isArray(value) ? value.map(String).toSorted() : value)

const told = (value: unknown): string => JSON.stringify(value).slice(0, 200)
