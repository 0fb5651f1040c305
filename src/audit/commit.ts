// One batch on its way into the log, and who waits for it. A full disk refuses what begins something and, out of the
// reserve, still takes what ends something, and what begins to make room.
import { GloveboxError } from '../errors/error.ts'
import { isNoSpace } from '../paths/kept-space.ts'
import type { Chain } from './chain.ts'
import type { AuditRecord, Unsealed } from './record.ts'
import { asUnavailable } from './refusal.ts'
import { reserveBytes, type Reserve } from './reserve.ts'

/** A promise with its two ends. It is no fault when nobody looks at it: a record is waited for in one way or the other. */
export interface Pending<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(error: unknown): void
}

export interface Waiting {
  readonly record: Unsealed
  /** What must be there of the reserve when it has been written. */
  readonly leaves: number
  /** Needs no sync of its own. */
  readonly isPatient: boolean
  /** It stands in the log, in its place; a power cut may still take it. */
  readonly written: Pending<AuditRecord>
  readonly durable: Pending<void>
}

/** Each is named in every head until it ends. */
export const mostOpenIntents = 1000

export function waitFor(record: Unsealed, options: { readonly leaves: number; readonly isPatient?: boolean }): Waiting {
  const { leaves, isPatient = false } = options
  return { record, leaves, isPatient, written: pending(), durable: pending() }
}

function pending<Value>(): Pending<Value> {
  let resolve: Pending<Value>['resolve'] = () => {}
  let reject: Pending<Value>['reject'] = () => {}
  const promise = new Promise<Value>((resolved, rejected) => {
    resolve = resolved
    reject = rejected
  })
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}

export function refuse({ written, durable }: Waiting, refusal: unknown): void {
  written.reject(refusal)
  durable.reject(refusal)
}

/** Gives back those that are written now, and answers the others. Never throws. */
export async function commit(reserve: Reserve, chain: Chain, batch: readonly Waiting[]): Promise<readonly Waiting[]> {
  const done: Waiting[] = []
  let rest = refuseTooMany(chain, batch)
  while (rest.length > 0) {
    const leaves = Math.max(...rest.map((each) => each.leaves))
    try {
      if (leaves > 0) reserve.require(leaves)
      const written = await chain.write(rest.map(({ record }) => record))
      written.forEach((record, index) => rest[index]?.written.resolve(record))
      done.push(...rest.slice(0, written.length))
      rest = rest.slice(written.length)
    } catch (error) {
      const first = rest.find((each) => each.leaves === leaves)?.record.actor ?? ''
      if (isNoSpace(error) && reserve.give(leaves, first)) continue
      // One has had its share of the reserve; others may still find some.
      const mayStay = ({ leaves: left, record }: Waiting): boolean =>
        left < leaves || (leaves < reserveBytes && record.actor !== first)
      rest = keep(
        rest,
        (each) => isNoSpace(error) && mayStay(each),
        () => asUnavailable(error),
      )
    }
  }
  return done
}

/**
 * Whoever has fewer open than there is room for may open another. So one alone has half of them at most, and n together leave as much
 * as each of them has: somebody who has none open always finds room.
 */
function refuseTooMany(chain: Chain, batch: readonly Waiting[]): readonly Waiting[] {
  let room = mostOpenIntents - chain.openCount
  const begun = new Map<string, number>()
  const mayBegin = (actor: string): boolean => {
    const own = begun.get(actor) ?? chain.openOf(actor)
    if (own >= room) return false
    begun.set(actor, own + 1)
    room -= 1
    return true
  }
  return keep(batch, ({ record }) => record.outcome !== 'intent' || mayBegin(record.actor), tooMany)
}

const tooMany = (): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot begin: too many audited operations are under way', {
    hint: 'Try again when some of them have ended.',
  })

function keep(
  batch: readonly Waiting[],
  stays: (each: Waiting) => boolean,
  refusal: () => unknown,
): readonly Waiting[] {
  return batch.filter((each) => {
    if (stays(each)) return true
    refuse(each, refusal())
    return false
  })
}
