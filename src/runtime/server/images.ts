// The backend docker once for each image that execs ask for: what an image is, is asked of the daemon once. None is fetched. Those that
// were not asked for the longest are forgotten, and closed when nobody uses them any more.
import type { Backend } from '../../contract/backend.ts'
import type { Prepared } from '../../execs/boundaries.ts'
import { isThere } from './kept-backend.ts'

export interface BackendInUse {
  readonly backend: Backend
  /** Once, when nothing is asked of it any more. */
  readonly release: () => Promise<void>
}

export interface Images {
  use(image: string): Promise<BackendInUse>
  /** Those in use, too. */
  close(): Promise<void>
}

interface Entry {
  readonly opening: Promise<Backend>
  users: number
  isForgotten: boolean
  closed: Promise<void> | undefined
}

const mostImages = 32

export function openImages(openFor: (image: string) => Promise<Backend>): Images {
  const known = new Map<string, Entry>()
  /** Whether they are known or forgotten. */
  const open = new Set<Entry>()

  const close = (entry: Entry): Promise<void> => {
    const end = async (): Promise<void> => {
      const backend = await entry.opening.catch(() => undefined)
      await backend?.close?.()
      open.delete(entry)
    }
    entry.closed ??= end()
    return entry.closed
  }
  const forget = (image: string, entry: Entry): void => {
    if (known.get(image) === entry) known.delete(image)
    entry.isForgotten = true
    // Nobody waits for it here; what goes wrong is told to whoever closes all of them.
    if (entry.users === 0) close(entry).catch(() => {})
  }
  const add = (image: string): Entry => {
    const entry: Entry = { opening: openFor(image), users: 0, isForgotten: false, closed: undefined }
    open.add(entry)
    return entry
  }
  return {
    async use(image) {
      const entry = known.get(image) ?? add(image)
      entry.users++
      // Behind the others: what was not asked for the longest is forgotten first.
      known.delete(image)
      known.set(image, entry)
      const [oldest] = known
      if (known.size > mostImages && oldest !== undefined) forget(...oldest)
      const backend = await entry.opening.catch((error: unknown) => {
        if (known.get(image) === entry) known.delete(image)
        open.delete(entry)
        throw error
      })
      // One that is not there may come while the server runs.
      if (!isThere(backend)) forget(image, entry)
      return {
        backend,
        async release() {
          entry.users--
          if (entry.isForgotten && entry.users === 0) await close(entry)
        },
      }
    },
    async close() {
      await Promise.all([...open].map(close))
    },
  }
}

/** For whoever closes it, writes down its end, and has it forgotten. */
const forgottenWithinMs = 60_000

/**
 * Until nobody will look for the exec any more; where nobody would, until it is closed. Nobody forgets one that another server was given, or
 * whose end could not be written: what is left of such a one is swept, which needs no backend of its own.
 */
export function releasedAfter(prepared: Prepared, release: () => Promise<void>): Prepared {
  let released: Promise<void> | undefined
  const releaseOnce = (): Promise<void> => (released ??= release())
  const last = async (step: () => Promise<void> | undefined): Promise<void> => {
    try {
      await step()
    } finally {
      await releaseOnce()
    }
  }
  if (prepared.forget === undefined) return { ...prepared, close: () => last(() => prepared.close()) }
  let waiting: NodeJS.Timeout | undefined
  return {
    ...prepared,
    async close() {
      try {
        await prepared.close()
      } finally {
        // What goes wrong as a backend is closed is told to whoever closes all of them.
        waiting ??= setTimeout(() => void releaseOnce().catch(() => {}), forgottenWithinMs).unref()
      }
    },
    forget() {
      clearTimeout(waiting)
      return last(() => prepared.forget?.())
    },
  }
}
