// One after the other, for each name apart: what is done to one member is never done twice at once in this process.
import { deferred } from './deferred.ts'
import { cancelled } from './refusals.ts'

export interface Turns {
  /** Waits for its turn, then works. A signal ends the waiting, not the work. */
  take<T>(name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Somebody works or waits under this name. */
  isBusy(name: string): boolean
  /** When all that work or wait now have ended. */
  settled(): Promise<void>
}

export interface TurnsOptions {
  /** Nobody works or waits under a name any more. */
  readonly onIdle: () => void
}

export function openTurns({ onIdle }: TurnsOptions): Turns {
  const last = new Map<string, Promise<void>>()

  return {
    async take(name, work, signal) {
      if (signal?.aborted === true) throw cancelled()
      const before = last.get(name)
      const mine = deferred<void>()
      const tail = before === undefined ? mine.promise : before.then(() => mine.promise)
      last.set(name, tail)
      void tail.then(() => {
        if (last.get(name) !== tail) return
        last.delete(name)
        onIdle()
      })
      try {
        if (before !== undefined) await untilAborted(before, signal)
        return await work()
      } finally {
        mine.resolve()
      }
    },
    isBusy: (name) => last.has(name),
    settled: async () => void (await Promise.all(last.values())),
  }
}

async function untilAborted(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return turn
  const aborted = deferred<never>()
  const abort = (): void => aborted.reject(cancelled())
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([turn, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
