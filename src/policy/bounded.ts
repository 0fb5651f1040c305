// One field with a ceiling, folded over the layers. Fields do not depend on each other, so this is the whole
// of "who may widen what", and it names no field.
import type { EffectivePolicy, Origin, PolicyField } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { builtInOrigin, escalation, parentOrigin } from './escalation.ts'
import { fieldRules } from './fields.ts'
import { formatOrigin, formatValue } from './format.ts'
import type { CheckedLayer } from './layer.ts'

export interface FieldState<F extends PolicyField> {
  readonly value: EffectivePolicy[F]
  readonly from: Origin
  readonly ceiling?: { readonly value: EffectivePolicy[F]; readonly from: Origin }
  /** A person set it, so it must be enforced or refused. */
  readonly demanded: boolean
}

interface BoundedState<F extends PolicyField> extends FieldState<F> {
  readonly ceiling: { readonly value: EffectivePolicy[F]; readonly from: Origin }
}

type Ceiling<F extends PolicyField> = BoundedState<F>['ceiling']

/** The value never exceeds the ceiling, so a ceiling that comes down takes the value with it and signs for it. */
function underCeiling<F extends PolicyField>(field: F, state: BoundedState<F>, ceiling: Ceiling<F>): BoundedState<F> {
  const rule = fieldRules[field]
  if (!rule.isWider(state.value, ceiling.value)) return { ...state, ceiling }
  const from = { layer: ceiling.from.layer, source: `${ceiling.from.source}, by its ceiling` }
  // What the sandbox around this one holds is held already.
  const demanded = state.demanded || ceiling.from !== parentOrigin
  return { value: rule.meet(state.value, ceiling.value), from, ceiling, demanded }
}

function refuseBeyondParent<F extends PolicyField>(
  field: F,
  asked: EffectivePolicy[F],
  parent: EffectivePolicy[F] | undefined,
  by: Origin,
): void {
  // SECURITY: test/attacks/policy: "a sandbox inside a sandbox is never wider than its parent"
  if (parent !== undefined && fieldRules[field].isWider(asked, parent)) {
    throw escalation({ field, asked, allowed: parent, ceilingFrom: parentOrigin, by })
  }
}

/** The operator's word: an explicit ceiling, and a value that lifts the ceiling if it must. */
function applySettings<F extends PolicyField>(
  field: F,
  state: BoundedState<F>,
  { origin, values, ceilings }: CheckedLayer,
  parent: EffectivePolicy[F] | undefined,
): BoundedState<F> {
  const rule = fieldRules[field]
  const ceiling = ceilings[field]
  const value = values[field]
  let next = state
  if (ceiling !== undefined) {
    refuseBeyondParent(field, ceiling, parent, origin)
    if (value !== undefined && rule.isWider(value, ceiling)) throw contradiction(field, value, ceiling, origin)
    // A ceiling below the built-in one is a demand as well: a limit that nobody enforces is no ceiling.
    const narrows = rule.ceiling !== undefined && rule.isWider(rule.ceiling, ceiling)
    next = underCeiling(field, { ...next, demanded: next.demanded || narrows }, { value: ceiling, from: origin })
  }
  if (value === undefined) return next
  refuseBeyondParent(field, value, parent, origin)
  // The ceiling becomes the value itself and not a union with the old one: for lists a union would hold entries
  // that no list of the operator names any more.
  const lifted = rule.isWider(value, next.ceiling.value) ? { value, from: origin } : next.ceiling
  return { value, from: origin, ceiling: lifted, demanded: true }
}

function contradiction<F extends PolicyField>(
  field: F,
  value: EffectivePolicy[F],
  ceiling: EffectivePolicy[F],
  origin: Origin,
): GloveboxError {
  const cause = `${formatOrigin(origin)} sets ${formatValue(field, value)} and a ceiling of ${formatValue(field, ceiling)}`
  return new GloveboxError('INVALID_SETTINGS', `Cannot use ${field}: ${cause}`, {
    hint: `Lower ${field}, or raise ceilings.${field}.`,
    facts: { field, asked: value, allowed: ceiling, layer: origin.layer, source: origin.source },
  })
}

/** A skill or a request: any value up to the ceiling, and never one step above. */
function applyAsked<F extends PolicyField>(
  field: F,
  state: BoundedState<F>,
  { origin, values }: CheckedLayer,
): BoundedState<F> {
  const asked = values[field]
  if (asked === undefined) return state
  // SECURITY: test/attacks/policy: "a request above a ceiling is refused"
  if (fieldRules[field].isWider(asked, state.ceiling.value)) {
    throw escalation({ field, asked, allowed: state.ceiling.value, ceilingFrom: state.ceiling.from, by: origin })
  }
  return { ...state, value: asked, from: origin, demanded: true }
}

export function foldBounded<F extends PolicyField>(
  field: F,
  builtInCeiling: EffectivePolicy[F],
  layers: readonly CheckedLayer[],
  parent: EffectivePolicy[F] | undefined,
): FieldState<F> {
  const rule = fieldRules[field]
  const builtIn = { value: builtInCeiling, from: builtInOrigin }
  let state: BoundedState<F> = { value: rule.initial, from: builtInOrigin, ceiling: builtIn, demanded: false }
  if (parent !== undefined && rule.isWider(builtInCeiling, parent)) {
    const within = { value: rule.meet(builtInCeiling, parent), from: parentOrigin }
    state = underCeiling(field, state, within)
  }
  for (const layer of layers) {
    state =
      layer.origin.layer === 'settings' ? applySettings(field, state, layer, parent) : applyAsked(field, state, layer)
  }
  return state
}
