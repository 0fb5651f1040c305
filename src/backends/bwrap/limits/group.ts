// A group of processes under limits: one directory in v2, one per controller in v1. What both kinds share is here.
import { closeSync, openSync, write } from 'node:fs'
import { promisify } from 'node:util'
import { GloveboxError } from '../../../errors/error.ts'
import { describe, makeGroup, removeGroup } from './files.ts'
import { endProcesses, processesIn } from './processes.ts'
import type { Controller, Limits } from './plan.ts'

export interface Usage {
  readonly memoryBytes?: number
  readonly pids?: number
  readonly cpuMs?: number
}

export interface LimitGroup {
  readonly name: string
  readonly by: string
  readonly enforces: readonly Controller[]
  /** On the host; for the journal, never for an agent. */
  readonly directories: readonly string[]
  /** Descriptors by which a process of one thread puts itself under the limits: it writes 0 to each. Empty where the kernel
   * offers no such way; then `add` is the way. */
  readonly entries: readonly number[]
  /** Puts a process and all that it will start under the limits. Rejects if any limit would not hold. */
  add(pid: number): Promise<void>
  /** Other limits from now on, for what is inside already, too. */
  set(limits: Limits): Promise<void>
  oomKills(): Promise<number>
  usage(): Promise<Usage>
  processes(): Promise<readonly number[]>
  /** Ends everything inside, and settles when nothing is left. */
  kill(): Promise<void>
  /** Waits for dying processes, for a bounded time. Idempotent. Does not kill. */
  destroy(): Promise<void>
}

export interface GroupParts {
  readonly name: string
  readonly by: string
  readonly enforces: readonly Controller[]
  readonly directories: readonly string[]
  /** The file of each directory into which a process may write itself, if there is one. */
  readonly entryFile?: string
  /** In force from the beginning. */
  readonly limits: Limits
  /** Sets the limits in the directories, which exist by then. */
  setLimits(limits: Limits): Promise<void>
  oomKills(): Promise<number>
  usage(): Promise<Usage>
}

/** Not at once: a move may wait for the whole machine. */
const writeAsync = promisify<number, string, number>(write)
const destroyDeadlineMs = 10_000

export async function makeLimitGroup(parts: GroupParts): Promise<LimitGroup> {
  const made: string[] = []
  const doors: number[] = []
  const entries: number[] = []
  const undo = async (): Promise<void> => {
    for (const descriptor of [...doors.splice(0), ...entries.splice(0)]) closeSync(descriptor)
    await Promise.all(made.map((directory) => removeGroup(directory, { deadlineMs: destroyDeadlineMs })))
  }
  try {
    for (const directory of parts.directories) {
      makeGroup(directory)
      made.push(directory)
    }
    await parts.setLimits(parts.limits)
    // Kept open: adding a process is on the path of every exec and is then a single write.
    for (const directory of parts.directories) doors.push(openSync(`${directory}/cgroup.procs`, 'w'))
    if (parts.entryFile !== undefined)
      for (const directory of parts.directories) entries.push(openSync(`${directory}/${parts.entryFile}`, 'w'))
  } catch (error) {
    await undo()
    throw error
  }
  const { name, by, enforces, directories } = parts
  return {
    name,
    by,
    enforces,
    directories,
    entries: [...entries],
    oomKills: () => parts.oomKills(),
    usage: () => parts.usage(),
    add: (pid) => addTo(doors, pid),
    set: (limits) => parts.setLimits(limits),
    processes: () => processesIn(directories),
    kill: () => endProcesses(directories),
    destroy: undo,
  }
}

/** A move waits for an RCU grace period (some 8 ms when groups were quiet), so the hierarchies are written at once. */
async function addTo(doors: readonly number[], pid: number): Promise<void> {
  // SECURITY: a pid of 0 would move this very process. test/faults/limits: "a group refuses what is not a pid"
  if (!Number.isInteger(pid) || pid < 2) {
    throw new GloveboxError('INTERNAL', `Cannot put a process under limits: ${pid} is not the pid of a child`)
  }
  // SECURITY: without a door nothing would be written and the command would run unlimited.
  // test/faults/limits: "a destroyed group takes no process"
  if (doors.length === 0) {
    throw new GloveboxError('BOUNDARY_FAILED', 'Cannot put a process under limits: its group has been destroyed')
  }
  const moves = await Promise.allSettled(doors.map((door) => writeAsync(door, String(pid))))
  const failed = moves.find((move) => move.status === 'rejected')
  if (failed === undefined) return
  throw new GloveboxError('BOUNDARY_FAILED', 'Cannot put a process under limits: the kernel refused to move it', {
    operatorDetail: describe(failed.reason),
    cause: failed.reason,
  })
}

type Loose<T> = { readonly [Key in keyof T]: T[Key] | undefined }

/** Leaves out what could not be read. */
export function usageOf(read: Loose<Required<Usage>>): Usage {
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined))
}
