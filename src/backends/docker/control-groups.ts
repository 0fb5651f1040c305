// What runs of a container on this host, ended without the daemon. One look at all processes serves all containers that are to be ended at
// the time: it reads a file of each process, and nothing else has a turn meanwhile. Knows containers by id, and nothing of Docker.
import { readdirSync, readFileSync } from 'node:fs'
import { kill, platform } from 'node:process'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { isErrno } from '../../paths/refusal.ts'

export interface ControlGroups {
  /**
   * Settles when nothing is in the group any more, as far as it can be seen; when that takes too long; or at once where somebody is in it
   * whom we may not signal.
   */
  end(id: string): Promise<void>
}

/** What only a test puts something else in the place of. */
export interface ProcessHost {
  /** Of each process, what it says of its control groups. */
  processes(): Iterable<readonly [pid: number, groups: string]>
  signal(pid: number): void
}

const lookMs = 100
/** Of what has been sent the signal. */
const mostToDieMs = 2000

interface Doomed {
  readonly until: number
  readonly ended: Promise<void>
  readonly settle: () => void
}

export function openControlGroups(host: ProcessHost = thisHost): ControlGroups {
  const doomed = new Map<string, Doomed>()
  let isLooking = false

  const look = (): void => {
    const found = pidsIn(host, [...doomed.keys()])
    for (const [id, { until, settle }] of doomed) {
      const pids = found.get(id) ?? []
      const areOurs = pids.map((pid) => sendKill(host, pid)).every(Boolean)
      // Whom we may not signal now we may not signal in a moment.
      if (pids.length > 0 && areOurs && performance.now() < until) continue
      doomed.delete(id)
      settle()
    }
  }
  const lookOn = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // Those that are asked for at the same time are looked for together.
    for (await setImmediate(); doomed.size > 0; await delay(lookMs)) {
      try {
        look()
      } catch {
        // Out of descriptors, for one: nothing is known of any. Whoever waits tries again.
        for (const { settle } of doomed.values()) settle()
        doomed.clear()
      }
    }
    isLooking = false
  }
  return {
    end(id) {
      const before = doomed.get(id)
      if (before !== undefined) return before.ended
      let settle = (): void => {}
      const ended = new Promise<void>((resolve) => (settle = resolve))
      doomed.set(id, { until: performance.now() + mostToDieMs, ended, settle })
      void lookOn()
      return ended
    },
  }
}

/**
 * SECURITY: by its control group, which a guest can neither leave nor write, as it could its command line. The first process takes all
 * others of its namespace along; with gVisor the group has the sandbox.
 * test/faults/execs-dockerd-away: "what is called LOST, cancelled or too late does not go on running, and what never began is not LOST"
 */
function pidsIn(host: ProcessHost, ids: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>(ids.map((id) => [id, []]))
  for (const [pid, groups] of host.processes()) for (const [id, pids] of found) if (groups.includes(id)) pids.push(pid)
  return found
}

/** False where it is not ours to end. gVisor's belong to root, or to nobody, whoever asked for the container. */
function sendKill(host: ProcessHost, pid: number): boolean {
  try {
    host.signal(pid)
    return true
  } catch (error) {
    if (isErrno(error, 'EPERM')) return false
    // It has ended.
    if (isErrno(error, 'ESRCH')) return true
    throw error
  }
}

const thisHost: ProcessHost = {
  *processes() {
    if (platform !== 'linux') return
    for (const name of readdirSync('/proc')) {
      const groups = /^\d+$/.test(name) ? groupsOf(name) : undefined
      if (groups !== undefined) yield [Number(name), groups]
    }
  },
  signal: (pid) => void kill(pid, 'SIGKILL'),
}

function groupsOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
  } catch (error) {
    // Without descriptors nobody may be called gone. Else it has ended since it was listed, or is hidden from us.
    if (isErrno(error, 'EMFILE', 'ENFILE')) throw error
    return undefined
  }
}
