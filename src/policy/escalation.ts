// The refusal of a request for more than is allowed. It is never a clamp: the asker learns what was asked,
// what is allowed and who decided that.
import type { EffectivePolicy, Origin, PolicyField } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { formatNames, formatOrigin, formatValue } from './format.ts'

export interface Ask<F extends PolicyField> {
  readonly field: F
  readonly asked: EffectivePolicy[F]
  readonly allowed: EffectivePolicy[F]
  readonly ceilingFrom: Origin
  readonly by: Origin
}

export const builtInOrigin: Origin = { layer: 'default', source: 'built in' }
/** The sandbox around this one. Its values came from its own operator. */
export const parentOrigin: Origin = { layer: 'settings', source: 'parent sandbox' }

interface Excess {
  readonly field: string
  readonly asked: string
  readonly allowed: string
}

const beyond = (asked: readonly string[], allowed: readonly string[]): readonly string[] => {
  const known = new Set(allowed)
  return asked.filter((name) => !known.has(name))
}

/** Only what goes too far is named; a list of a thousand good entries would hide it. */
function excessOf<F extends PolicyField>({ field, asked, allowed }: Ask<F>): Excess {
  if (isNames(asked) && isNames(allowed)) {
    return { field, asked: formatNames(beyond(asked, allowed)), allowed: formatNames(allowed) }
  }
  if (isNetwork(asked) && isNetwork(allowed)) {
    if (asked.mode !== allowed.mode) return { field: 'network.mode', asked: asked.mode, allowed: allowed.mode }
    const extra = formatNames(beyond(asked.allow, allowed.allow))
    return { field: 'network.allow', asked: extra, allowed: formatNames(allowed.allow) }
  }
  return { field, asked: formatValue(field, asked), allowed: formatValue(field, allowed) }
}

const isNames = (value: unknown): value is readonly string[] => Array.isArray(value)
const isNetwork = (value: unknown): value is EffectivePolicy['network'] =>
  typeof value === 'object' && value !== null && 'mode' in value

export function escalation<F extends PolicyField>(ask: Ask<F>): GloveboxError {
  const excess = excessOf(ask)
  const cause = `${formatOrigin(ask.by)} asked for ${excess.asked}, and ${formatOrigin(ask.ceilingFrom)} allows ${excess.allowed}`
  return new GloveboxError('POLICY_ESCALATION', `Cannot widen ${excess.field}: ${cause}`, {
    hint:
      ask.ceilingFrom === parentOrigin
        ? 'The sandbox around this one holds the limit; nothing inside can move it.'
        : `Ask for no more than ${excess.allowed}, or let the operator raise ${excess.field} in the settings.`,
    facts: {
      field: ask.field,
      asked: ask.asked,
      allowed: ask.allowed,
      ceilingFrom: ask.ceilingFrom,
      layer: ask.by.layer,
      source: ask.by.source,
    },
  })
}

/** For what is the operator's alone, whatever its value. */
export function operatorOnly(key: 'ceilings' | 'unprotect', asked: unknown, by: Origin): GloveboxError {
  const cause = `${formatOrigin(by)} asked for it, and only settings may`
  return new GloveboxError('POLICY_ESCALATION', `Cannot use ${key}: ${cause}`, {
    hint: `Leave ${key} out, or let the operator put it into the settings.`,
    facts: { field: key, asked, allowed: null, ceilingFrom: builtInOrigin, layer: by.layer, source: by.source },
  })
}
