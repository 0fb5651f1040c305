// One effect under one key, however often it is sent. The answer is kept; a repetition gets it again, and one that comes while
// the first is at work waits for it. After a crash between the claim and its answer nobody knows whether the effect took
// place, so the caller is told to look, or to wait.
import type { IdempotencyTable } from '../../contract/idempotency.ts'
import { GloveboxError } from '../../errors/error.ts'

export interface OnceRequest {
  readonly project: string
  /** Undefined: no key was sent, and the effect simply takes place. */
  readonly key: string | undefined
  readonly bodySha256: string
  /** The id that the effect will have. */
  readonly subject: string
}

export interface Once {
  /** The answer must survive JSON. */
  perform<Value>(request: OnceRequest, effect: () => Promise<Value>): Promise<Value>
}

const keyForm = /^[\x21-\x7e]{1,255}$/
/** So long an effect may take, before it counts as one that a crash cut off. */
const patienceMs = 10 * 60_000

export function openOnce(table: IdempotencyTable, now: () => number = Date.now): Once {
  const atWork = new Map<string, { readonly bodySha256: string; readonly answer: Promise<unknown> }>()

  const claimed = async <Value>(
    request: OnceRequest & { readonly key: string },
    effect: () => Promise<Value>,
  ): Promise<Value> => {
    const { project, key, bodySha256, subject } = request
    const created_at = new Date(now()).toISOString()
    const claim = await table.claim({ project_id: project, key, body_sha256: bodySha256, subject, created_at })
    if (claim.outcome === 'mismatch') throw mismatch()
    if (claim.outcome === 'repeated') {
      const { answer, created_at: begun, subject: first } = claim.row
      if (answer !== null) return JSON.parse(answer) as Value
      if (now() - Date.parse(begun) < patienceMs) throw underway()
      await table.release({ project_id: project, key, subject: first })
      return claimed(request, effect)
    }
    return kept(request, effect)
  }

  const kept = async <Value>(
    { project, key, subject }: OnceRequest & { readonly key: string },
    effect: () => Promise<Value>,
  ): Promise<Value> => {
    let value: Value
    try {
      value = await effect()
    } catch (error) {
      // Nothing came of it: the same key may be tried again.
      await table.release({ project_id: project, key, subject })
      throw error
    }
    await table.finish({ project_id: project, key, answer: JSON.stringify(value) })
    return value
  }

  return {
    async perform<Value>(request: OnceRequest, effect: () => Promise<Value>): Promise<Value> {
      const { key, project, bodySha256 } = request
      if (key === undefined) return effect()
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

const mismatch = (): GloveboxError =>
  new GloveboxError('IDEMPOTENCY_MISMATCH', 'Cannot take the request: its Idempotency-Key belongs to another one', {
    hint: 'Use a new key for a new request.',
  })

const underway = (): GloveboxError =>
  new GloveboxError(
    'BUSY',
    'Cannot answer yet: a request with this Idempotency-Key is at work, or was cut off by a crash',
    {
      hint: 'Try again later, or look whether it took place.',
    },
  )
