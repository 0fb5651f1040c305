// Layers become the policy in force: default ← settings ← skill ← request. A later layer replaces a value;
// only settings move a ceiling; whoever else asks for more is refused, and nothing is clamped or ignored.
// Every value and ceiling carries the layer that set it. Pure: it neither changes nor keeps what it is given.
// It knows no backend; whether a policy can be enforced is asked in enforce.ts.
import type { EffectivePolicy, ExplainedField, PolicyField, PolicyLayer, ResolvedPolicy } from '../contract/policy.ts'
import { foldDenyRead, foldProtect } from './added.ts'
import { foldBounded, type FieldState } from './bounded.ts'
import { fieldRules, policyFields } from './fields.ts'
import { checkLayers, type CheckedLayer } from './layer.ts'

export interface ResolveOptions {
  /** The values of the sandbox around this one. Nobody inside can move them. */
  readonly parentCeilings?: Partial<EffectivePolicy>
}

type States = { readonly [F in PolicyField]: FieldState<F> }

export function resolvePolicy(layers: readonly PolicyLayer[], options: ResolveOptions = {}): ResolvedPolicy {
  const parent = checkParent(options.parentCeilings ?? {})
  const states = resolveFields(checkLayers(layers), parent)
  return {
    effective: pick(states, (state) => state.value) as EffectivePolicy,
    ceilings: pick(states, (state) => state.ceiling?.value),
    explained: policyFields.map((field) => explainField(field, states[field])),
    demanded: new Set(policyFields.filter((field) => states[field].demanded)),
  }
}

function resolveFields(layers: readonly CheckedLayer[], parent: Partial<EffectivePolicy>): States {
  const bounded = policyFields.flatMap((field) => resolveBounded(field, layers, parent))
  return {
    ...(Object.fromEntries(bounded) as unknown as States),
    protect: foldProtect(layers, parent.protect ?? []),
    denyRead: foldDenyRead(layers, parent.denyRead ?? []),
  }
}

function resolveBounded<F extends PolicyField>(
  field: F,
  layers: readonly CheckedLayer[],
  parent: Partial<EffectivePolicy>,
): readonly (readonly [F, FieldState<F>])[] {
  const { ceiling } = fieldRules[field]
  return ceiling === undefined ? [] : [[field, foldBounded(field, ceiling, layers, parent[field])]]
}

function pick(states: States, choose: (state: FieldState<PolicyField>) => unknown): Partial<EffectivePolicy> {
  const chosen = policyFields.map((field) => [field, choose(states[field])] as const)
  return Object.fromEntries(chosen.filter(([, value]) => value !== undefined))
}

const explainField = (field: PolicyField, { value, from, ceiling }: FieldState<PolicyField>): ExplainedField => ({
  field,
  value,
  from,
  ...(ceiling === undefined ? {} : { ceiling }),
})

/** A parent's policy may have come over a wire from another process, so it is checked like a layer. */
function checkParent(parent: Partial<EffectivePolicy>): Partial<EffectivePolicy> {
  const checked = policyFields.flatMap((field) => {
    const value = Object.hasOwn(parent, field) ? parent[field] : undefined
    return value === undefined
      ? []
      : [[field, fieldRules[field].check(asLayerValue(value), `parent.${field}`)] as const]
  })
  return Object.fromEntries(checked)
}

/** An effective network always has a list, a layer's only in the mode where it means something. */
function asLayerValue(value: EffectivePolicy[PolicyField]): unknown {
  return typeof value === 'object' && 'mode' in value && value.mode !== 'allowlist' ? { mode: value.mode } : value
}
