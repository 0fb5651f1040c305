// Requests that policy refuses. They are execs that ended before they began: recorded, named by their refusal, and refused again
// under the same key.
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { ExecRow } from '../contract/store.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import type { Boundaries } from './boundaries.ts'
import { inCallersWords } from './policy-words.ts'
import type { Unrecorded } from './work.ts'

interface Resolved {
  /** Where it is refused: the one that the request could not change. */
  readonly resolved: ResolvedPolicy
  readonly refusal?: GloveboxError
}

export function resolveOrRefuse(boundaries: Boundaries, values: Unrecorded['values']): Resolved {
  try {
    return { resolved: boundaries.resolve(values) }
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    const refusal = inCallersWords(error)
    if (!refusal.code.startsWith('POLICY_')) throw refusal
    return { resolved: boundaries.resolve({}), refusal }
  }
}

export const refused = (row: ExecRow, refusal: GloveboxError): ExecRow => ({
  ...row,
  owner: null,
  status: 'POLICY_DENIED',
  error_reason: refusal.code.toLowerCase(),
  ended_at: row.created_at,
})

/** The error names its record. */
export const naming = ({ exec_id }: ExecRow, refusal: GloveboxError): GloveboxError =>
  new GloveboxError(refusal.code, refusal.message, {
    ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
    ...(refusal.operatorDetail === undefined ? {} : { operatorDetail: refusal.operatorDetail }),
    facts: { ...refusal.facts, exec_id },
    cause: refusal,
  })

/** The same request under the same key: in the words of the policy, as long as it is the same. */
export function refusedAgain(boundaries: Boundaries, values: Unrecorded['values'], first: ExecRow): GloveboxError {
  return naming(first, resolveOrRefuse(boundaries, values).refusal ?? allowedByNow())
}

const allowedByNow = (): GloveboxError =>
  new GloveboxError('POLICY_DENIED', 'Cannot take the exec: the policy refused it when it came first', {
    hint: 'The policy is another one by now. Choose a new key.',
  })
