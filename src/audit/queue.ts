// Group commit. What arrives is written at once, in order; what is written while a sync is under way shares the next one, so a
// slow disk makes larger batches instead of longer queues.
import { setTimeout as delay } from 'node:timers/promises'
import { isNoSpace } from '../paths/kept-space.ts'
import type { Chain } from './chain.ts'
import { commit, refuse, waitFor, type Waiting } from './commit.ts'
import type { AuditPlace } from './files.ts'
import type { Leases } from './lease.ts'
import type { AuditRecord, Unsealed } from './record.ts'
import { asUnavailable } from './refusal.ts'
import { markRecorded } from './repair.ts'
import { endsBytes, reserveBytes, type Reserve } from './reserve.ts'
import { openSyncs } from './syncs.ts'

export interface QueueOptions {
  readonly place: AuditPlace
  readonly chain: Chain
  readonly leases: Leases
  readonly reserve: Reserve
  readonly headEvery: { readonly records: number; readonly ms: number }
  /** Keeps the lock so long for what may come next: a busy process then pays for a sync and not for the lock. */
  readonly lingerMs: number
}

export interface Adding {
  /** It stands in the log behind everything before it, or is refused. */
  readonly written: Promise<AuditRecord>
  /** It is on disk. */
  readonly durable: Promise<void>
}

export interface AddOptions {
  /** It asks for no sync of its own, and is on disk when the log is given back: that is soon. */
  readonly isPatient?: boolean
  /** It begins what leaves more room on the disk than before. */
  readonly makesRoom?: boolean
}

export interface Queue {
  /** Reads the log and records what a dead writer left open. */
  start(): Promise<void>
  add(record: Unsealed, options?: AddOptions): Adding
  /** Signs and lets go. Throws if the end of the log could not be signed. */
  close(): Promise<void>
}

const mostPerBatch = 256
/** Then the lock is let go for a moment in which others can take it. */
const longestHoldMs = 25
const letOthersMs = 4

export function openQueue({ place, chain, leases, reserve, headEvery, lingerMs }: QueueOptions): Queue {
  const waiting: Waiting[] = []
  const syncs = openSyncs(chain)
  let working: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isHeadDue = false
  let onAdded: (() => void) | undefined

  /** Until something came, or the other thing happened. */
  const came = (other: (happened: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        if (onAdded === end) onAdded = undefined
        resolve()
      }
      onAdded = end
      other(end)
    })

  /** True when something came. */
  const lingered = async (): Promise<boolean> => {
    let patience: NodeJS.Timeout | undefined
    await came((isOver) => (patience = setTimeout(isOver, lingerMs)))
    clearTimeout(patience)
    return waiting.length > 0
  }

  const catchUp = async (): Promise<void> => {
    await chain.catchUp()
    const { repairs, ends } = chain.debts()
    const debts = [...repairs.map(({ record }) => record), ...ends]
    if (debts.length === 0) return
    const batch = debts.map((record) => waitFor(record, { leaves: 0 }))
    syncs.owe(await commit(reserve, chain, batch))
    await Promise.all(batch.map(({ durable }) => durable.promise))
    for (const repair of repairs) markRecorded(place, repair)
  }

  /** Whoever has the lock next finds everything on disk. */
  const held = <T>(work: () => Promise<T>): Promise<T> =>
    leases.hold(async () => {
      try {
        return await work()
      } finally {
        await syncs.settle()
        chain.rest()
      }
    })

  /** True when it ended for the others' sake, with work left. */
  const turn = async (): Promise<boolean> => {
    await catchUp()
    const until = performance.now() + longestHoldMs
    const hasTime = (forMs: number): boolean => performance.now() + forMs < until
    const wantsMore = async (): Promise<boolean> => {
      // While the disk is at work the lock is ours anyway.
      for (let { underWay } = syncs; waiting.length === 0 && underWay !== undefined; { underWay } = syncs) {
        const answered = underWay
        await came((isOver) => void answered.then(isOver))
      }
      if (waiting.length > 0) return hasTime(0)
      return lingerMs > 0 && !isHeadDue && hasTime(lingerMs) && (await lingered())
    }
    do {
      while (waiting.length > 0 && hasTime(0)) syncs.owe(await commit(reserve, chain, waiting.splice(0, mostPerBatch)))
    } while (await wantsMore())
    const isCutShort = waiting.length > 0 || (lingerMs > 0 && !hasTime(lingerMs))
    await syncs.settle()
    if (isHeadDue || chain.unsigned >= headEvery.records) await signIfPossible()
    return isCutShort
  }

  /** The records are safe without it. Whoever closes the log learns if it stays impossible. */
  const signIfPossible = async (): Promise<void> => {
    isHeadDue = false
    await chain.sign().catch(() => undefined)
    // There may be room again.
    reserve.renew()
  }

  /** Nothing begun here can still end, so the space that was kept for ends may be used. */
  const signAtLast = async (): Promise<void> => {
    for (;;) {
      try {
        return await chain.sign()
      } catch (error) {
        if (!isNoSpace(error) || !reserve.give(0, '')) throw error
      }
    }
  }

  const work = async (): Promise<void> => {
    while (waiting.length > 0 || isHeadDue) {
      try {
        if ((await held(turn)) && leases.isShared()) await delay(letOthersMs)
      } catch (error) {
        isHeadDue = false
        for (const each of waiting.splice(0)) refuse(each, asUnavailable(error))
      }
      awaitHead()
    }
    working = undefined
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
      const begin = async (): Promise<void> => {
        await catchUp()
        reserve.renew()
      }
      await held(begin).catch((error: unknown) => {
        leases.close()
        throw asUnavailable(error)
      })
      awaitHead()
    },
    add(record, { isPatient = false, makesRoom = false } = {}) {
      // An end may use the space that was kept for it; a beginning may not, unless there is more room behind it.
      const leaves = record.intent !== null ? 0 : makesRoom ? endsBytes : reserveBytes
      const added = waitFor(record, { leaves, isPatient })
      waiting.push(added)
      onAdded?.()
      working ??= work()
      return { written: added.written.promise, durable: added.durable.promise }
    },
    async close() {
      clearTimeout(timer)
      onAdded?.()
      await working
      clearTimeout(timer)
      try {
        await held(async () => {
          await catchUp()
          await signAtLast()
        })
      } catch (error) {
        throw asUnavailable(error)
      } finally {
        leases.close()
      }
    },
  }
}
