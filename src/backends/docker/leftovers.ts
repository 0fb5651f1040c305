// What processes that were killed have left on this installation's docker: their containers, and what lies on the host for those. Such
// containers need no image to be taken away, so this goes on where the backend itself is of no use.
import { setTimeout as delay } from 'node:timers/promises'
import { sweepPlaceholders } from '../../guards/placeholders.ts'
import { sweepScratch } from '../../process/scratch.ts'
import { scratchRoot } from './assemble.ts'
import type { Containers, Listed } from './containers.ts'

export interface Sweep {
  /** Settles when it has been tried once. What would have to be waited for is left to whoever comes next. Never rejects. */
  close(): Promise<void>
}

export interface SweepOptions {
  readonly stateDir: string
  readonly containers: Containers
}

export function sweepLeftovers({ stateDir, containers }: SweepOptions): Sweep {
  const closing = new AbortController()
  const { signal } = closing
  const sweep = async (): Promise<void> => {
    await removeOrphans(containers, signal)
    await sweepPlaceholders(stateDir)
    sweepScratch(scratchRoot(stateDir))
    // What a killed process had asked for a moment ago, the daemon may make only now.
    await delay(lateMs, undefined, { ref: false, signal })
    await removeOrphans(containers, signal)
  }
  const sweeping = sweep().catch(() => {})
  return {
    close() {
      closing.abort()
      return sweeping
    },
  }
}

const sweepAgainMs = 2000
const lateMs = 10_000

async function removeOrphans(containers: Containers, signal: AbortSignal): Promise<void> {
  for (;;) {
    const orphans = (await listed(containers, signal)).filter(isOrphan)
    // First, since what runs in them may hold the rest.
    if (await containers.remove(...orphans.map(({ name }) => name))) return
    await delay(sweepAgainMs, undefined, { ref: false, signal })
  }
}

const isOrphan = ({ orphaned, lasting }: Listed): boolean => orphaned && lasting === undefined

/** A daemon that went just now is asked again: nobody else looks for them before the next start. */
async function listed(containers: Containers, signal: AbortSignal): Promise<readonly Listed[]> {
  for (;;) {
    const found = await containers.list().catch(() => undefined)
    if (found !== undefined) return found
    await delay(sweepAgainMs, undefined, { ref: false, signal })
  }
}
