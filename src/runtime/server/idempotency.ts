// One effect under one key, however often it is sent, whatever fails in between and whoever is killed.
//
// The invariant, and why it holds. (1) The id of what will be made is drawn and bound to the key in the store, on disk, before anything
// is made. (2) A key that is bound stays bound to that id, also where the effect failed: the id is never replaced by another. (3) Under
// one id at most one thing can be: a run's directory comes into being by a rename that replaces nothing, a sandbox is made under the
// lease of its id. So whoever finds a key without an answer looks for what its id names, and answers with that; and where there is
// nothing he makes it under the same id, so that of two who do so at once one makes it and the other finds it. The answer that is kept
// with the key saves the look, and tells of what has ended since.
import type { IdempotencyTable } from '../../contract/idempotency.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { noFailpoint, type Failpoint } from '../../runs/failpoints.ts'

export interface OnceRequest {
  readonly project: string
  /** Undefined: no key was sent, and the effect simply takes place. */
  readonly key: string | undefined
  readonly bodySha256: string
  /** The id that the effect will have, if the key is new. */
  readonly subject: string
  /** The caller named the id, and sends it with each repetition. Another may have it already: then the key is bound to nothing. */
  readonly isChosen?: boolean
}

/** What the key is bound to. */
export interface Bound {
  readonly subject: string
  /** An earlier sending had no answer: what it may have begun lies under the subject, and is looked for first. */
  readonly isRepeated: boolean
  /** When the key was bound. What is older under the subject was made by another. */
  readonly since: string
}

export interface Once {
  /** The answer must survive JSON. The effect is done under the subject that it is given, and not twice under one. */
  perform<Value>(request: OnceRequest, effect: (bound: Bound) => Promise<Value>): Promise<Value>
}

export interface OnceOptions {
  readonly now?: () => number
  readonly failpoint?: Failpoint
}

type Keyed = OnceRequest & { readonly key: string }

const keyForm = /^[\x21-\x7e]{1,255}$/

export function openOnce(table: IdempotencyTable, options: OnceOptions = {}): Once {
  const { now = Date.now, failpoint = noFailpoint } = options
  const atWork = new Map<string, { readonly bodySha256: string; readonly answer: Promise<unknown> }>()

  const claimed = async <Value>(request: Keyed, effect: (bound: Bound) => Promise<Value>): Promise<Value> => {
    const { project: project_id, key, bodySha256: body_sha256, subject } = request
    const created_at = new Date(now()).toISOString()
    const claim = await table.claim({ project_id, key, body_sha256, subject, created_at })
    if (claim.outcome === 'mismatch') throw mismatch()
    if (claim.outcome === 'claimed') {
      failpoint('once.claimed')
      return kept(request, effect, { subject, isRepeated: false, since: created_at })
    }
    const { answer, subject: first, created_at: since } = claim.row
    if (answer !== null) return JSON.parse(answer) as Value
    return kept(request, effect, { subject: first, isRepeated: true, since })
  }

  const kept = async <Value>(
    { project: project_id, key, isChosen = false }: Keyed,
    effect: (bound: Bound) => Promise<Value>,
    bound: Bound,
  ): Promise<Value> => {
    let value: Value
    try {
      value = await effect(bound)
    } catch (error) {
      // The id was another's before the key was ours. It comes again with each repetition, so that nothing is forgotten with the key.
      if (isChosen && !bound.isRepeated && isTaken(error))
        await table.release({ project_id, key, subject: bound.subject })
      throw error
    }
    failpoint('once.done')
    await table.finish({ project_id, key, answer: JSON.stringify(value) })
    return value
  }

  return {
    async perform<Value>(request: OnceRequest, effect: (bound: Bound) => Promise<Value>): Promise<Value> {
      const { key, project, bodySha256, subject } = request
      if (key === undefined) return effect({ subject, isRepeated: false, since: new Date(now()).toISOString() })
      if (!keyForm.test(key))
        throw new GloveboxError(
          'INVALID_INPUT',
          'Cannot take the Idempotency-Key: it is not 1 to 255 visible characters',
        )
      const name = `${project} ${key}`
      const first = atWork.get(name)
      if (first !== undefined && first.bodySha256 !== bodySha256) throw mismatch()
      if (first !== undefined) return (await first.answer) as Value
      const answer = claimed({ ...request, key }, effect)
      atWork.set(name, { bodySha256, answer })
      try {
        return await answer
      } finally {
        atWork.delete(name)
      }
    },
  }
}

const isTaken = (error: unknown): boolean => isGloveboxError(error) && error.code === 'ALREADY_EXISTS'

const mismatch = (): GloveboxError =>
  new GloveboxError('IDEMPOTENCY_MISMATCH', 'Cannot take the request: its Idempotency-Key belongs to another one', {
    hint: 'Use a new key for a new request.',
  })
