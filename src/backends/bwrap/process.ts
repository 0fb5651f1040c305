// One command through bwrap: started, let through the gate, followed to its end.
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

const setupPatienceMs = 3000

export function followBwrap(child: SpawnedChild, keeping: Gatekeeping): Process {
  const [channel, word] = child.pipes as [Readable, Writable]
  const status = readStatus(channel)
  let killed = false
  let firstPid: number | undefined
  let refused: string | undefined

  word.on('error', () => {})

  const kill = (): void => {
    killed = true
    // No word, no command: the gate ends by itself if it has not been passed yet.
    word.destroy()
    // Never bwrap alone while it sets up: its child waits for a sign from it and would wait for ever. Its first process is
    // announced within a moment, and ended then.
    if (firstPid === undefined) setTimeout(() => child.kill('SIGKILL'), setupPatienceMs).unref()
    else if (!killNamespace(firstPid, child.pid)) child.kill('SIGKILL')
  }
  const admit = async (): Promise<void> => {
    firstPid = await status.childPid
    if (firstPid === undefined) return
    if (killed) return void killNamespace(firstPid, child.pid)
    try {
      await keeping.admit(firstPid)
      word.end('\n')
    } catch (error) {
      // Fail closed: a command that cannot be limited is not let through.
      refused = error instanceof Error ? error.message : String(error)
      word.destroy()
    }
  }
  const follow = async (): Promise<ProcessExit> => {
    await admit()
    // Also when a code was reported: until then bwrap itself is there, or is a zombie.
    const end = await child.ended
    const exit = readExit(end, await status.exitCode, killed)
    word.destroy()
    if (refused !== undefined && exit.setupFailed === undefined)
      return { setupFailed: `the resource group could not be joined: ${refused}` }
    return exit.signal === 'SIGKILL' && (await keeping.tookMemory()) ? { ...exit, oomKilled: true } : exit
  }
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit: follow(), kill }
}
