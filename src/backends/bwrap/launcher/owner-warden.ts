// One process that serves twice. Its user namespace is the one in which root's files belong to the guest's id, and it is the
// warden (src/process/warden.ts): the start of a process from a large one is the dearest thing that a short command does.
// It outlives us, so it does not die with its parent; end of file on its standard input ends it.
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { kill } from 'node:process'
import type { MakePipe } from '../../../process/pipes.ts'
import { bindSystem, findSystem } from '../system.ts'
import { wardenCommand, wardenEnvironment, type Warden } from '../../../process/warden.ts'

export interface OwnerWarden {
  /** A descriptor of the namespace; the caller closes it. */
  namespace(): Promise<number>
  /** From now on it watches for what carries this token. */
  guard(token: string): Warden
  close(): void
}

const patienceMs = 10_000

export interface WardenStart {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** By index: what it has at that descriptor. */
  readonly stdio: readonly number[]
}

export interface WardenParts {
  readonly bwrapPath: string
  /** Its id in the kernel. */
  readonly kernelId: number
  readonly makePipe: MakePipe
  /** As that id, in the root directory, and in a session of its own: a signal to our process group must not reach it. */
  readonly start: (request: WardenStart) => void
}

export function startOwnerWarden({ bwrapPath, kernelId, makePipe, start }: WardenParts): OwnerWarden {
  const [heard, said] = makePipe()
  const [status, report] = makePipe()
  // Its own reader: bwrap must not end by SIGPIPE while it sets up, or its child would wait for a sign for ever.
  const bothWays = openSync(`/proc/self/fd/${report}`, 'r+')
  const nowhere = openSync('/dev/null', 'r+')
  const quickly = openSync(`/proc/self/fd/${status}`, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    start({
      file: bwrapPath,
      args: [
        '--unshare-user',
        '--uid',
        '0',
        '--gid',
        '0',
        '--json-status-fd',
        '3',
        ...bindSystem(findSystem()),
        // It looks for its processes in the host's own list of them.
        '--ro-bind',
        '/proc',
        '/proc',
        '--dev-bind',
        '/dev/null',
        '/dev/null',
        '--',
        ...wardenCommand,
      ],
      env: wardenEnvironment,
      stdio: [heard, nowhere, nowhere, bothWays],
    })
  } catch (error) {
    for (const descriptor of [said, quickly]) closeSync(descriptor)
    throw error
  } finally {
    for (const descriptor of [heard, status, report, bothWays, nowhere]) closeSync(descriptor)
  }
  const isMapped = (pid: number): boolean =>
    ['uid', 'gid'].every((kind) => isMapOf(readFileSync(`/proc/${pid}/${kind}_map`, 'latin1'), kernelId))
  let first: number | undefined
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    closeSync(said)
    closeSync(quickly)
    // bwrap itself follows. Where nothing is known of it yet, it finds the end of its input.
    if (first !== undefined) killQuietly(first)
  }
  return {
    async namespace() {
      const until = Date.now() + patienceMs
      const text = Buffer.alloc(1024)
      for (let length = 0; ; await aMoment()) {
        if (isOver || Date.now() > until) throw new Error('the namespace for file owners could not be made')
        length += readSome(quickly, text.subarray(length))
        first ??= pidIn(text.toString('latin1', 0, length))
        if (first !== undefined && isMapped(first)) return openSync(`/proc/${first}/ns/user`, 'r')
      }
    },
    guard(token) {
      writeSync(said, `${token}\n`)
      return { dismiss: end }
    },
    close: end,
  }
}

const aMoment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

function readSome(descriptor: number, into: Uint8Array): number {
  try {
    return readSync(descriptor, into)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0
    throw error
  }
}

function pidIn(status: string): number | undefined {
  const pid = /"child-pid": (\d+)/.exec(status)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

/** Not there yet: false. Another one than was asked for: an error. */
function isMapOf(map: string, kernelId: number): boolean {
  const [inside, outside, count] = map.trim().split(/\s+/).map(Number)
  if (outside === undefined) return false
  if (inside === 0 && outside === kernelId && count === 1) return true
  throw new Error('the namespace for file owners is not as asked')
}

function killQuietly(pid: number): void {
  try {
    kill(pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}
