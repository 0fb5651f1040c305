// Who waits for the disk. One sync is under way at a time, and what is written meanwhile shares the next. A patient record
// asks for none of its own: it goes with the next, or at the end of the turn.
import type { Chain } from './chain.ts'
import type { Waiting } from './commit.ts'
import { asUnavailable } from './refusal.ts'

export interface Syncs {
  /** Settles, and never throws, when the disk has answered. */
  readonly underWay: Promise<void> | undefined
  owe(written: readonly Waiting[]): void
  /** Until nothing is owed. Never throws: those who wait are told. */
  settle(): Promise<void>
}

export function openSyncs(chain: Pick<Chain, 'sync'>): Syncs {
  let owed: readonly Waiting[] = []
  let underWay: Promise<void> | undefined

  const start = (): Promise<void> => {
    const batch = owed
    owed = []
    return (underWay = answered(batch).then(() => {
      underWay = undefined
      startIfAsked()
    }))
  }

  const answered = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await chain.sync()
      for (const { durable } of batch) durable.resolve()
    } catch (error) {
      for (const { durable } of batch) durable.reject(asUnavailable(error))
    }
  }

  const startIfAsked = (): void => {
    if (underWay === undefined && owed.some(({ isPatient }) => !isPatient)) void start()
  }

  return {
    get underWay() {
      return underWay
    },
    owe(written) {
      owed = [...owed, ...written]
      startIfAsked()
    },
    async settle() {
      while (underWay !== undefined || owed.length > 0) await (underWay ?? start())
    },
  }
}
