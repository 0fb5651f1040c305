// Group commit. What arrives while one batch is on its way to the disk forms the next, so the cost of a sync is shared by
// all that wait for it, and a slow disk makes larger batches instead of longer queues.
import { setTimeout as delay } from 'node:timers/promises'
import type { Chain } from './chain.ts'
import { commit, waitFor, type Waiting } from './commit.ts'
import type { AuditPlace } from './files.ts'
import type { Leases } from './lease.ts'
import type { AuditRecord, Unsealed } from './record.ts'
import { asUnavailable, isNoSpace } from './refusal.ts'
import { markRecorded } from './repair.ts'
import { giveReserve } from './reserve.ts'

export interface QueueOptions {
  readonly place: AuditPlace
  readonly chain: Chain
  readonly leases: Leases
  readonly headEvery: { readonly records: number; readonly ms: number }
  /** Keeps the lock so long for what may come next: a busy process then pays for a sync and not for the lock. */
  readonly lingerMs: number
}

export interface Queue {
  /** Reads the log and records what a dead writer left open. */
  start(): Promise<void>
  /** Settles when the record is on disk, or refused. */
  add(record: Unsealed): Promise<AuditRecord>
  /** Signs and lets go. Throws if the end of the log could not be signed. */
  close(): Promise<void>
}

const mostPerBatch = 256
/** Then the lock is let go for a moment in which others can take it. */
const longestHoldMs = 25
const letOthersMs = 4

export function openQueue({ place, chain, leases, headEvery, lingerMs }: QueueOptions): Queue {
  const waiting: Waiting[] = []
  let working: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isHeadDue = false
  let onAdded: (() => void) | undefined

  /** True when something came. */
  const lingered = (mostMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(patience)
        onAdded = undefined
        resolve(waiting.length > 0)
      }
      const patience = setTimeout(end, mostMs)
      onAdded = end
    })

  const catchUp = async (): Promise<void> => {
    await chain.catchUp()
    const { repairs, ends } = chain.debts()
    const debts = [...repairs.map(({ record }) => record), ...ends]
    const batch = debts.map((record) => waitFor(record, { mayUseReserve: true }))
    await commit(place, chain, batch)
    await Promise.all(batch.map(({ answer }) => answer))
    for (const repair of repairs) markRecorded(place, repair)
  }

  /** True when it ended for the others' sake, with work left. */
  const turn = async (): Promise<boolean> => {
    await catchUp()
    const until = performance.now() + longestHoldMs
    do {
      while (waiting.length > 0 && performance.now() < until)
        await commit(place, chain, waiting.splice(0, mostPerBatch))
    } while (lingerMs > 0 && !isHeadDue && performance.now() + lingerMs < until && (await lingered(lingerMs)))
    const isCutShort = waiting.length > 0 || (lingerMs > 0 && performance.now() + lingerMs >= until)
    if (isHeadDue || chain.unsigned >= headEvery.records) await signIfPossible()
    return isCutShort
  }

  /** The records are safe without it. Whoever closes the log learns if it stays impossible. */
  const signIfPossible = async (): Promise<void> => {
    isHeadDue = false
    await chain.sign().catch(() => undefined)
  }

  const work = async (): Promise<void> => {
    while (waiting.length > 0 || isHeadDue) {
      try {
        if (await leases.hold(turn)) await delay(letOthersMs)
      } catch (error) {
        isHeadDue = false
        for (const each of waiting.splice(0)) each.reject(asUnavailable(error))
      }
    }
    working = undefined
    awaitHead()
  }

  const awaitHead = (): void => {
    if (timer !== undefined || chain.unsigned === 0) return
    timer = setTimeout(() => {
      timer = undefined
      isHeadDue = true
      working ??= work()
    }, headEvery.ms)
    timer.unref()
  }

  return {
    async start() {
      await leases.hold(catchUp).catch((error: unknown) => {
        leases.close()
        throw asUnavailable(error)
      })
      awaitHead()
    },
    add(record) {
      // An end may use the space that was kept for it; a beginning may not.
      const added = waitFor(record, { mayUseReserve: record.intent !== null })
      waiting.push(added)
      onAdded?.()
      working ??= work()
      return added.answer
    },
    async close() {
      clearTimeout(timer)
      onAdded?.()
      await working
      clearTimeout(timer)
      try {
        await leases.hold(async () => {
          await catchUp()
          await chain.sign().catch(async (error: unknown) => {
            if (!isNoSpace(error)) throw error
            // Nothing begun here can still end, so the space kept for ends is free.
            giveReserve(place)
            await chain.sign()
          })
        })
      } catch (error) {
        throw asUnavailable(error)
      } finally {
        leases.close()
      }
    },
  }
}
