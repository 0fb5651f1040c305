// From a started bwrap to its end: its first process is let through the gate once it is under its limits.
import type { Readable, Writable } from 'node:stream'
import type { Process, ProcessExit } from '../../contract/backend.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import { readExit } from './exit.ts'
import { readStatus } from './status.ts'
import { killNamespace } from './tree.ts'

export interface Gatekeeping {
  /** Puts the first process inside into its resource group, before anything of the command runs. */
  admit(pid: number): Promise<void>
  /** Has the kernel ended something for want of memory since the last question? */
  tookMemory(): Promise<boolean>
}

export interface Followed {
  /** Settles when the word has been given; undefined if it never will be. */
  readonly firstPid: Promise<number | undefined>
  /** The pipe of the word. */
  readonly word: Writable
  /** Settles when bwrap itself has ended. Never rejects. */
  readonly exit: Promise<ProcessExit>
  readonly kill: () => void
}

const setupPatienceMs = 3000

export function followBwrap(child: SpawnedChild, keeping: Gatekeeping): Followed {
  const [channel, word] = child.pipes as [Readable, Writable]
  const status = readStatus(channel)
  let killed = false
  let knownPid: number | undefined
  let refused: string | undefined
  /** Until then an exit code is the gate's own, and nothing of the command has run. */
  let isThrough = false

  word.on('error', () => {})

  const kill = (): void => {
    killed = true
    // No word, no command: the gate ends by itself if it has not been passed yet.
    word.destroy()
    // Never bwrap alone while it sets up: its child waits for a sign from it and would wait for ever. Its first process is
    // announced within a moment, and ended then.
    if (knownPid === undefined) setTimeout(() => child.kill('SIGKILL'), setupPatienceMs).unref()
    else if (!killNamespace(knownPid, child.pid)) child.kill('SIGKILL')
  }
  const letThrough = async (): Promise<number | undefined> => {
    knownPid = await status.childPid
    if (knownPid === undefined) return undefined
    if (killed) {
      killNamespace(knownPid, child.pid)
      return undefined
    }
    try {
      await keeping.admit(knownPid)
      isThrough = !killed
      word.write('\n')
      return knownPid
    } catch (error) {
      // Fail closed: a command that cannot be limited is not let through.
      refused = error instanceof Error ? error.message : String(error)
      word.destroy()
      return undefined
    }
  }
  const firstPid = letThrough()
  const follow = async (): Promise<ProcessExit> => {
    await firstPid
    // Also when a code was reported: until then bwrap itself is there, or is a zombie.
    const end = await child.ended
    const exitCode = await status.exitCode
    const exit = readExit(end, killed && !isThrough ? undefined : exitCode, killed)
    word.destroy()
    if (refused !== undefined && exit.setupFailed === undefined)
      return { setupFailed: `the resource group could not be joined: ${refused}` }
    return blameMemory(exit, keeping)
  }
  return { firstPid, word, exit: follow(), kill }
}

export const blameMemory = async (exit: ProcessExit, keeping: Gatekeeping): Promise<ProcessExit> =>
  exit.signal === 'SIGKILL' && (await keeping.tookMemory()) ? { ...exit, oomKilled: true } : exit

/** A boundary for one command, which ends with it. */
export function singleCommand(child: SpawnedChild, keeping: Gatekeeping): Process {
  const { firstPid, word, exit, kill } = followBwrap(child, keeping)
  void firstPid.then(() => word.end())
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit, kill }
}
