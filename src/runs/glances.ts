// When to look at a file that somebody else writes. The kernel's notices make it quick; a slow clock makes it certain,
// since notices get lost: on network filesystems, across containers, and when the user's watches are used up.
import { watch } from 'node:fs'
import { isErrno } from '../paths/refusal.ts'

export interface GlancesOptions {
  /** Ends it; nothing is thrown. */
  readonly signal: AbortSignal
  /** Look at least so often. */
  readonly everyMs?: number
}

const customaryMs = 1000

/** Yields at once, and then whenever something in the directory may have changed. Several changes are one glance. */
export async function* glances(directory: string, options: GlancesOptions): AsyncGenerator<void> {
  const { signal, everyMs = customaryMs } = options
  let isDue = true
  let wake = (): void => {}
  const nudge = (): void => {
    isDue = true
    wake()
  }
  const unwatch = watchDirectory(directory, nudge)
  const clock = setInterval(nudge, everyMs)
  signal.addEventListener('abort', nudge)
  try {
    while (!signal.aborted) {
      if (isDue) {
        isDue = false
        yield
      } else {
        await new Promise<void>((resolve) => (wake = resolve))
      }
    }
  } finally {
    signal.removeEventListener('abort', nudge)
    clearInterval(clock)
    unwatch()
  }
}

/** Without a watch the clock alone serves. */
function watchDirectory(directory: string, nudge: () => void): () => void {
  try {
    const watcher = watch(directory, nudge)
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch (error) {
    if (isErrno(error)) return () => {}
    throw error
  }
}
