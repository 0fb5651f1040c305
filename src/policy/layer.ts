// A layer as it was handed in becomes a checked copy: known fields only, each of the right shape, and nothing
// of the operator's in a layer that is not the operator's.
import type { EffectivePolicy, LayerName, Origin, PolicyField, PolicyLayer } from '../contract/policy.ts'
import { checkRelativeNames, invalid, isPlainRecord, shownKey } from './check.ts'
import { operatorOnly } from './escalation.ts'
import { fieldRules, isPolicyField } from './fields.ts'

export interface CheckedLayer {
  readonly origin: Origin
  readonly values: Partial<EffectivePolicy>
  readonly ceilings: Partial<EffectivePolicy>
  readonly unprotect: readonly string[]
}

/** From the first to apply to the last. The default is built in and is nobody's to hand over. */
const givenLayers = ['settings', 'skill', 'request'] as const satisfies readonly LayerName[]

type Draft = { -readonly [F in PolicyField]?: EffectivePolicy[F] }

function checkField<F extends PolicyField>(draft: Draft, field: F, value: unknown, path: string): void {
  draft[field] = fieldRules[field].check(value, path)
}

// SECURITY: only own, known keys are read, into an object without a prototype, so that neither `__proto__` in a
// parsed document nor a polluted prototype can set a value. test/attacks/policy: "prototype keys set no policy value"
function checkFields(record: unknown, path: string, accepts: (field: PolicyField) => boolean): Draft {
  if (!isPlainRecord(record)) throw invalid(path, 'it must be an object')
  const draft = Object.create(null) as Draft
  for (const key of Object.keys(record)) {
    if (!isPolicyField(key) || !accepts(key)) throw invalid(`${path}.${shownKey(key)}`, 'no such field exists')
    const keyPath = `${path}.${key}`
    if (record[key] !== undefined) checkField(draft, key, record[key], keyPath)
  }
  return draft
}

/** `env` has a ceiling, but it is the operator's own list and has no second place to be set. */
const hasSettableCeiling = (field: PolicyField): boolean => field !== 'env' && fieldRules[field].ceiling !== undefined

function checkLayer({ layer, source, values }: PolicyLayer): CheckedLayer {
  if (!isPlainRecord(values)) throw invalid(layer, 'it must be an object')
  const origin: Origin = { layer, source }
  const own = (key: 'ceilings' | 'unprotect'): unknown => (Object.hasOwn(values, key) ? values[key] : undefined)
  const ceilings = own('ceilings')
  const unprotect = own('unprotect')
  // SECURITY: test/attacks/policy: "a request cannot move a ceiling or give up a protection"
  if (layer !== 'settings') {
    if (ceilings !== undefined) throw operatorOnly('ceilings', ceilings, origin)
    if (unprotect !== undefined) throw operatorOnly('unprotect', unprotect, origin)
  }
  const plain = Object.entries(values).filter(([key]) => key !== 'ceilings' && key !== 'unprotect')
  return {
    origin,
    values: checkFields(Object.fromEntries(plain), layer, () => true),
    ceilings: ceilings === undefined ? {} : checkFields(ceilings, `${layer}.ceilings`, hasSettableCeiling),
    unprotect: unprotect === undefined ? [] : checkRelativeNames(unprotect, `${layer}.unprotect`),
  }
}

/** Checked copies in the order of the law, whatever the order in which they came; layers of one name keep theirs. */
export function checkLayers(layers: readonly PolicyLayer[]): readonly CheckedLayer[] {
  for (const { layer } of layers) {
    if (!givenLayers.some((known) => known === layer)) {
      throw invalid(`layer ${JSON.stringify(layer)}`, `a layer must be one of ${givenLayers.join(', ')}`)
    }
  }
  return givenLayers.flatMap((name) => layers.filter(({ layer }) => layer === name)).map(checkLayer)
}
