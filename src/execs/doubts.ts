// Requests of which nobody knows whether their exec is in the store: the database went away during the commit. It is asked until it
// answers. For a while the caller waits for it; then the caller is told that nobody knows, and nothing is taken away that the exec would
// need. Once it is known, the exec is accepted as any other, and is what its key stands for, or it never was and leaves nothing.
import { utimesSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecRow, Store } from '../contract/store.ts'
import { isGloveboxError } from '../errors/error.ts'
import { isErrno } from '../paths/refusal.ts'
import { execPlace } from './layout.ts'

export interface DoubtsParts {
  readonly root: string
  readonly store: Pick<Store, 'execs'>
  readonly now: () => Date
  readonly log: (about: string, error: unknown) => void
  /** It is there, and its caller has gone. Again does no harm. */
  readonly onThere: (row: ExecRow) => Promise<void>
  /** It never was, and its caller has gone. */
  readonly onVoid: (row: ExecRow) => Promise<void>
  readonly withinMs?: number
  readonly againMs?: number
}

export interface Doubts {
  /** Whether the exec is there. Undefined: that is not known yet, and is seen to here when it is. */
  settle(row: ExecRow): Promise<boolean | undefined>
  close(): void
}

const pauseMs = 200

export function openDoubts(parts: DoubtsParts): Doubts {
  const { store, withinMs = 5000, againMs = 1000 } = parts
  const left = new Map<string, ExecRow>()
  let looking: Promise<void> | undefined

  /** Undefined while the database does not say. */
  const ask = async (row: ExecRow): Promise<boolean | undefined> => {
    try {
      return await store.execs.wasInserted(row)
    } catch (error) {
      if (!isAway(error)) parts.log(`whether ${row.exec_id} is in the store could not be asked`, error)
      return undefined
    }
  }

  const lookAt = async (row: ExecRow): Promise<void> => {
    touch(parts, row)
    const isThere = await ask(row)
    if (isThere === undefined) return
    await (isThere ? parts.onThere(row) : parts.onVoid(row))
    left.delete(row.exec_id)
  }
  const look = async (): Promise<void> => {
    for (const row of left.values())
      await lookAt(row).catch((error: unknown) => parts.log(`${row.exec_id} could not be accepted`, error))
  }
  const timer = setInterval(() => {
    if (left.size === 0) return
    looking ??= look().finally(() => (looking = undefined))
  }, againMs)
  timer.unref()

  return {
    async settle(row) {
      const begun = performance.now()
      for (;;) {
        const isThere = await ask(row)
        if (isThere !== undefined) return isThere
        if (performance.now() - begun >= withinMs) break
        await delay(pauseMs)
      }
      left.set(row.exec_id, row)
      return undefined
    },
    close: () => clearInterval(timer),
  }
}

const isAway = (error: unknown): boolean => isGloveboxError(error) && error.code === 'STORE_UNAVAILABLE'

/** It has no record yet, and what is old and has none is swept: by another server, too. */
function touch({ root, now }: DoubtsParts, row: ExecRow): void {
  try {
    utimesSync(execPlace(root, row), now(), now())
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
