// Children that were started without a copy of this process. Nobody tells us of their ends, so they are asked for: when whoever holds
// a pipe of a child sees it closed, and every so often in case nobody did.
import { setTimeout as delay } from 'node:timers/promises'
import type { LightRequest, LightSpawner } from '../../../process/light-spawn.ts'
import type { ChildEnd } from '../../../process/spawn.ts'

export interface LightChildren {
  start(request: LightRequest): number
  /** It has closed its pipe, and is about to end. */
  look(pid: number): Promise<void>
  close(): void
}

/** A process gives back its descriptors a moment before it can be asked for its end. */
const momentMs = 1
const moments = 50
const everyMs = 500

export function followLightChildren(spawner: LightSpawner, onEnd: (pid: number, end: ChildEnd) => void): LightChildren {
  const running = new Set<number>()
  const hasEnded = (pid: number): boolean => {
    if (!running.has(pid)) return true
    const end = spawner.findEnd(pid)
    if (end === undefined) return false
    running.delete(pid)
    onEnd(pid, end)
    return true
  }
  const timer = setInterval(() => running.forEach(hasEnded), everyMs).unref()
  return {
    start(request) {
      const pid = spawner.start(request)
      running.add(pid)
      return pid
    },
    async look(pid) {
      for (let moment = 0; moment < moments && !hasEnded(pid); moment += 1) await delay(momentMs)
    },
    close: () => clearInterval(timer),
  }
}
