// Children of a process that is all ours, started without a copy of it. Its main thread hears of every child's end by a signal,
// and then asks those that it started: whoever else has children is not disturbed.
import type { LightRequest, LightSpawner } from '../../../process/light-spawn.ts'
import type { ChildEnd } from '../../../process/spawn.ts'

export interface OwnChild {
  readonly pid: number
  /** Never rejects. */
  readonly ended: Promise<ChildEnd>
  /** Whether the process stays alive for its end. From the start it does not. */
  ref(): void
  unref(): void
}

export interface OwnChildren {
  start(request: LightRequest): OwnChild
  close(): void
}

/** In case the signal came while another one was told. */
const everyMs = 500

export function followOwnChildren(spawner: LightSpawner): OwnChildren {
  const running = new Map<number, (end: ChildEnd) => void>()
  const awaited = new Set<number>()
  const look = (): void => {
    for (const [pid, tell] of running) {
      const end = spawner.findEnd(pid)
      if (end === undefined) continue
      running.delete(pid)
      settle(pid, false)
      tell(end)
    }
  }
  const timer = setInterval(look, everyMs).unref()
  process.on('SIGCHLD', look)
  const settle = (pid: number, isAwaited: boolean): void => {
    if (isAwaited && running.has(pid)) awaited.add(pid)
    else awaited.delete(pid)
    if (awaited.size > 0) timer.ref()
    else timer.unref()
  }
  return {
    start(request) {
      const pid = spawner.start(request)
      const ended = new Promise<ChildEnd>((resolve) => running.set(pid, resolve))
      return { pid, ended, ref: () => settle(pid, true), unref: () => settle(pid, false) }
    },
    close() {
      process.off('SIGCHLD', look)
      clearInterval(timer)
    },
  }
}
