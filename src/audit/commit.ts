// One batch on its way to the disk, and who waits for it. A full disk refuses what begins something and, out of the
// reserve, still takes what ends something.
import { GloveboxError } from '../errors/error.ts'
import type { Chain } from './chain.ts'
import type { AuditPlace } from './files.ts'
import type { AuditRecord, Unsealed } from './record.ts'
import { asUnavailable, isNoSpace } from './refusal.ts'
import { giveReserve, holdReserve } from './reserve.ts'

export interface Waiting {
  readonly record: Unsealed
  readonly mayUseReserve: boolean
  readonly answer: Promise<AuditRecord>
  resolve(written: AuditRecord): void
  reject(error: unknown): void
}

/** Each is named in every head until it ends. */
export const mostOpenIntents = 1000

export function waitFor(record: Unsealed, options: { readonly mayUseReserve: boolean }): Waiting {
  let resolve: Waiting['resolve'] = () => {}
  let reject: Waiting['reject'] = () => {}
  const answer = new Promise<AuditRecord>((resolved, rejected) => {
    resolve = resolved
    reject = rejected
  })
  return { record, mayUseReserve: options.mayUseReserve, answer, resolve, reject }
}

/** Answers everybody in the batch. Never throws. */
export async function commit(place: AuditPlace, chain: Chain, batch: readonly Waiting[]): Promise<void> {
  let rest = refuseTooMany(chain, batch)
  let isFull = false
  while (rest.length > 0) {
    try {
      if (!rest.every(({ mayUseReserve }) => mayUseReserve)) holdReserve(place)
      const written = await chain.add(rest.map(({ record }) => record))
      written.forEach((record, index) => rest[index]?.resolve(record))
      rest = rest.slice(written.length)
    } catch (error) {
      const isFirstTime = isNoSpace(error) && !isFull
      isFull = true
      if (isFirstTime) giveReserve(place)
      rest = keep(rest, ({ mayUseReserve }) => isFirstTime && mayUseReserve, asUnavailable(error))
    }
  }
}

function refuseTooMany(chain: Chain, batch: readonly Waiting[]): readonly Waiting[] {
  const refusal = new GloveboxError('BUSY', 'Cannot begin: too many audited operations are under way', {
    hint: 'Try again when some of them have ended.',
  })
  let room = mostOpenIntents - chain.openCount
  return keep(batch, ({ record }) => record.outcome !== 'intent' || room-- > 0, refusal)
}

function keep(batch: readonly Waiting[], stays: (each: Waiting) => boolean, refusal: unknown): readonly Waiting[] {
  return batch.filter((each) => {
    if (stays(each)) return true
    each.reject(refusal)
    return false
  })
}
