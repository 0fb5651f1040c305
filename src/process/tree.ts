// Ends everything that a command started, where no namespace or cgroup can do it: by process group, session, descent,
// and a marker in the environment that daemons inherit. It promises to end all that does not hide. A program that
// clears its environment (or overwrites it in place), starts a session of its own AND has lost its parent before it
// is looked for escapes, and so does one that runs under another user's id. It knows nothing of sandboxes.
import { setTimeout as sleep } from 'node:timers/promises'
import { listProcesses, startTimeOf, type ProcessRow } from './proc-table.ts'

export interface ProcessTree {
  /** Ends the root and everything that is found. May be called at any time and twice. */
  kill(): void
  /** Call when the root has exited. Settles when nothing is left, or when the rest would not die in time. */
  finish(): Promise<{ readonly survivors: number }>
}

export interface TreeRoot {
  /** Leader of a session of its own (started detached). */
  readonly pid: number
  /** `NAME=value` as it stands in the environment of the root. */
  readonly marker: string
  readonly patienceMs?: number
}

export function followTree({ pid, marker, patienceMs = 5000 }: TreeRoot): ProcessTree {
  const startedAt = startTimeOf(pid)
  const known = new Map<number, ProcessRow>()
  let rootGone = false
  let finished: Promise<{ readonly survivors: number }> | undefined

  const find = async (): Promise<ProcessRow[]> => {
    const rows = await listProcesses({ notBefore: startedAt ?? 0, marker })
    const found = withDescendants(
      rows,
      (row) => isRoot(row) || row.group === pid || row.session === pid || row.marked || isKnown(row),
    )
    for (const row of found) known.set(row.pid, row)
    return found
  }

  // Once it is reaped its id may belong to a stranger.
  const isRoot = (row: ProcessRow): boolean => row.pid === pid && !rootGone
  // Found once by descent, and perhaps not findable so again: its parent may have died since.
  const isKnown = (row: ProcessRow): boolean => row.pid !== pid && known.get(row.pid)?.startTime === row.startTime

  const killRound = (rows: readonly ProcessRow[]): void => {
    // One call ends a whole group before any of it can fork again. The group's id cannot have passed to a stranger
    // while the root is not reaped, or while a member is alive.
    if (rows.some((row) => row.group === pid)) signal(-pid, 'SIGKILL')
    for (const row of rows) {
      // The id may have been given to another process since the listing.
      if (startTimeOf(row.pid) === row.startTime) signal(row.pid, 'SIGKILL')
    }
  }

  const endAll = async (): Promise<{ readonly survivors: number }> => {
    const giveUpAt = performance.now() + patienceMs
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
      const left = await find()
      if (left.length === 0) return { survivors: 0 }
      if (performance.now() > giveUpAt) return { survivors: left.length }
      killRound(left)
      await sleep(pauseMs)
    }
  }

  return {
    kill() {
      if (rootGone) return
      // What has left the group is found by descent while its parent lives: so the group is held still and looked
      // through before it dies, and cannot fork meanwhile.
      if (startedAt !== undefined) signal(-pid, 'SIGSTOP')
      void find().then((rows) => {
        killRound(rows)
        if (!rootGone) signal(-pid, 'SIGKILL')
      })
    },
    finish() {
      rootGone = true
      // Where there is no process table, the group is all that can be reached, and this is the last safe moment.
      if (startedAt === undefined) signal(-pid, 'SIGKILL')
      finished ??= endAll()
      return finished
    },
  }
}

/** Rows that `isOurs` picks, and everything below them. */
function withDescendants(rows: readonly ProcessRow[], isOurs: (row: ProcessRow) => boolean): ProcessRow[] {
  const childrenOf = new Map<number, ProcessRow[]>()
  for (const row of rows) {
    const siblings = childrenOf.get(row.parent)
    if (siblings === undefined) childrenOf.set(row.parent, [row])
    else siblings.push(row)
  }
  const found = new Map<number, ProcessRow>()
  const waiting = rows.filter(isOurs)
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    if (found.has(row.pid)) continue
    found.set(row.pid, row)
    waiting.push(...(childrenOf.get(row.pid) ?? []))
  }
  return [...found.values()]
}

function signal(target: number, name: 'SIGSTOP' | 'SIGKILL'): void {
  try {
    process.kill(target, name)
  } catch {
    // Gone already, or another user's: the next listing tells which.
  }
}
