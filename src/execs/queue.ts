// How many execs run here at a time, and which comes next. The queue itself is in the store, where all servers see it, and is
// fair across projects; this takes from its head whenever there is room.
import type { ExecRow } from '../contract/store.ts'

export interface QueueParts {
  /** For one more, beside all that is at work here. */
  hasRoom(): boolean
  claim(): Promise<ExecRow | undefined>
  /** At work from now on. */
  run(row: ExecRow): void
  /** The store could not be asked; it is asked again later. */
  readonly onFault: (error: unknown) => void
}

export interface Queue {
  /** There may be something to take, or room for it. */
  kick(): void
  /** Nothing more is taken; settles when no claim is under way. */
  stop(): Promise<void>
}

/** Execs that another server has put into the queue, and a store that did not answer, are looked at again this often. */
const lookAgainMs = 1000

export function openQueue(parts: QueueParts): Queue {
  let isStopped = false
  let wanted = false
  let taking: Promise<void> | undefined

  const takeAll = async (): Promise<void> => {
    while (wanted && !isStopped) {
      wanted = false
      while (parts.hasRoom() && !isStopped) {
        const row = await parts.claim()
        if (row === undefined) break
        parts.run(row)
      }
    }
  }
  const kick = (): void => {
    wanted = true
    if (isStopped) return
    taking ??= takeAll()
      .catch(parts.onFault)
      .finally(() => {
        taking = undefined
        // Somebody came while the last look was ending.
        if (wanted) kick()
      })
  }
  const timer = setInterval(kick, lookAgainMs)
  timer.unref()
  return {
    kick,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await taking
    },
  }
}
