// What is said where a run cannot be created, and what of it is the caller's own to mend.
import { inDoubt } from '../../errors/doubt.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'

/** To be told that nothing was written would make another one of it. */
export const unlisted = (runId: string, error: unknown): unknown =>
  isGloveboxError(error)
    ? new GloveboxError(error.code, `Cannot put the run ${runId} into the index: it has begun, and goes on without`, {
        hint: 'It is put there with its next step. Send the same Idempotency-Key again, or look for it before you start another one.',
        facts: { ...error.facts, ...inDoubt, run_id: runId },
        ...(error.operatorDetail === undefined ? {} : { operatorDetail: error.operatorDetail }),
        cause: error,
      })
    : error

/** What the caller can mend is told in the run's record, or in the answer. */
export const isRefusal = (error: unknown): boolean => isGloveboxError(error) && error.kind.http < 500

export const full = (own: number, free: number): GloveboxError =>
  new GloveboxError(
    'TOO_MANY_REQUESTS',
    `Cannot create the run now: the token has ${own} runs at work, and ${free} places are free`,
    {
      hint: 'A token may have another one while it has fewer than are free. Wait as long as Retry-After says.',
      facts: { retryAfterSeconds: 5 },
    },
  )

export const isTaken = (error: unknown): boolean => isGloveboxError(error) && error.code === 'ALREADY_EXISTS'

export const taken = (runId: string): GloveboxError =>
  new GloveboxError('ALREADY_EXISTS', `Cannot create the run ${runId}: the id is taken`, {
    hint: 'Leave run_id out, and one is made.',
  })
