// What one exec may ask for within the policy of its sandbox: any limit up to the ceiling, refused above it.
import type { EffectivePolicy, Origin, ResolvedPolicy } from '../contract/policy.ts'
import { builtInOrigin, escalation } from './escalation.ts'
import { fieldRules } from './fields.ts'

const execFields = ['timeoutMs', 'maxStdoutBytes', 'maxStderrBytes'] as const
type ExecField = (typeof execFields)[number]

export type ExecLimits = Pick<EffectivePolicy, ExecField>
export type AskedLimits = { readonly [F in ExecField]?: number | undefined }

function limitForExec(resolved: ResolvedPolicy, field: ExecField, value: number | undefined, source: string): number {
  if (value === undefined) return resolved.effective[field]
  const rule = fieldRules[field]
  const asked = rule.check(value, field)
  // A resolved policy without a ceiling was not made here; its own value is then the most it can mean.
  const allowed = resolved.ceilings[field] ?? resolved.effective[field]
  if (!rule.isWider(asked, allowed)) return asked
  throw escalation({
    field,
    asked,
    allowed,
    ceilingFrom: ceilingOrigin(resolved, field),
    by: { layer: 'request', source },
  })
}

const ceilingOrigin = (resolved: ResolvedPolicy, field: ExecField): Origin =>
  resolved.explained.find((explained) => explained.field === field)?.ceiling?.from ?? builtInOrigin

export function execLimits(resolved: ResolvedPolicy, asked: AskedLimits, source = 'exec'): ExecLimits {
  const limit = (field: ExecField): number => limitForExec(resolved, field, asked[field], source)
  return {
    timeoutMs: limit('timeoutMs'),
    maxStdoutBytes: limit('maxStdoutBytes'),
    maxStderrBytes: limit('maxStderrBytes'),
  }
}

/** SECURITY: what is granted, and not what could be. test/attacks/vault: "a secret that policy does not grant is refused" */
export function requireGranted(resolved: ResolvedPolicy, asked: readonly string[], source = 'exec'): void {
  const allowed = resolved.effective.secrets
  if (!fieldRules.secrets.isWider(asked, allowed)) return
  const granted = resolved.explained.find(({ field }) => field === 'secrets')?.from ?? builtInOrigin
  throw escalation({ field: 'secrets', asked, allowed, ceilingFrom: granted, by: { layer: 'request', source } })
}
