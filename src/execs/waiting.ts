// For whoever asked for an exec and waits for its end.
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import type { Watchers } from './watchers.ts'

/** For news that come from other servers. */
const lookAgainMs = 1000

export interface WaitingParts {
  readonly store: Pick<Store, 'execs'>
  readonly watchers: Pick<Watchers, 'watch'>
  readonly isStopping: () => boolean
}

/** The exec when it has ended; as it is, if the server stops before or the caller goes. */
export type Wait = (execId: string, signal?: AbortSignal) => Promise<ExecRow>

export const openWaiting =
  ({ store, watchers, isStopping }: WaitingParts): Wait =>
  async (execId, signal) => {
    const watch = watchers.watch(execId, 'state')
    try {
      for (;;) {
        const row = await store.execs.find(execId)
        if (row === undefined) throw forgotten(execId)
        if (hasEnded(row.status) || isStopping() || signal?.aborted === true) return row
        await watch.next(lookAgainMs, signal)
      }
    } finally {
      watch.close()
    }
  }

/**
 * It was taken, and whoever waits for it has been told nothing yet: so its row was not synced, and a database that crashed may have lost it.
 * It had not begun then. The name of its boundary is synced before anything is made, and with it all that was written before.
 */
const forgotten = (execId: string): GloveboxError =>
  new GloveboxError('STORE_UNAVAILABLE', `Cannot tell the end of ${execId}: the database has lost it`, {
    hint: 'Nothing of it has run. Send it again.',
  })
