// The only door to child_process. It starts a child with exactly the descriptors that are named,
// and with an environment that is given whole: nothing of our own environment reaches a child unasked.
// It knows nothing of sandboxes, policy or paths.
import { openSync } from 'node:fs'
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { Socket } from 'node:net'
import { closingOnce } from './closing-once.ts'
import { createDescriptorWatch } from './descriptors.ts'
import { loadPipes } from './pipes.ts'
import {
  giveTerminal,
  joinStreams,
  wire,
  wireStandard,
  type JoinedStreams,
  type StandardInput,
  type Wiring,
} from './wiring.ts'

/** An object: a pipe from which the child reads just these bytes, and which is no concern of ours any more.
 * `reportFromChild`: the child can write to it even when nobody is left to read, instead of ending by SIGPIPE. */
export type ExtraDescriptor = number | 'fromChild' | 'reportFromChild' | 'toChild' | { readonly holds: Uint8Array }

export interface ChildRequest {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: StandardInput
  /** A session and process group of its own. */
  readonly detached: boolean
  readonly uid?: number
  readonly gid?: number
  /** Descriptors 3 and up: a number is passed on; the others are new pipes whose other end is in `pipes`. */
  readonly extraDescriptors?: readonly ExtraDescriptor[]
}

export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The child could not be started. */
  readonly error?: Error
}

/** `pipes`: our ends of the pipes among extraDescriptors, in their order. */
export interface SpawnedChild extends JoinedStreams {
  readonly pid: number | undefined
  /** The descriptors behind stdout and stderr; undefined where they are Node's own sockets. */
  readonly outputDescriptors: readonly [number | undefined, number | undefined]
  /** Settles when the child has exited, whether or not someone still holds its output open. */
  readonly ended: Promise<ChildEnd>
  kill(signal: NodeJS.Signals): void
  /** It, and its streams, keep our process alive no longer. */
  unref(): void
  /** They do again. */
  ref(): void
}

/** How a child is started when the caller has made every descriptor itself. */
export interface RawRequest {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly detached: boolean
  readonly uid?: number
  readonly gid?: number
  /** By index: what the child has at that descriptor. */
  readonly stdio: readonly (number | 'pipe')[]
}

export interface Spawner {
  spawnChild(request: ChildRequest): SpawnedChild
  startRaw(request: RawRequest): ChildProcess
  close(): void
}

export function openSpawner(): Spawner {
  const makePipe = loadPipes()
  const inherited = createDescriptorWatch()
  // Last: what fails before it leaves nothing open.
  const nullDescriptor = openSync('/dev/null', 'r+')

  // SECURITY: a descriptor that our own parent left open without close-on-exec would reach the guest, and one of a
  // directory is a way out. Each is covered by /dev/null.
  // test/attacks/descriptors: "a descriptor inherited by the host process does not reach the guest"
  const coverInherited = (wanted: readonly (number | 'pipe')[]): StdioOptions => {
    const stdio: (number | 'pipe' | 'ignore')[] = [...wanted]
    for (const descriptor of inherited()) {
      if (descriptor < wanted.length) continue
      while (stdio.length < descriptor) stdio.push('ignore')
      stdio[descriptor] = nullDescriptor
    }
    return stdio
  }

  const startRaw = (request: RawRequest): ChildProcess => {
    const child = spawn(request.file, [...request.args], {
      cwd: request.cwd,
      env: { ...request.env },
      detached: request.detached,
      stdio: coverInherited(request.stdio),
      ...(request.uid === undefined ? {} : { uid: request.uid }),
      ...(request.gid === undefined ? {} : { gid: request.gid }),
    })
    // Out of descriptors, Node returns a child without streams and tells why later, to whoever listens; or ends the program.
    if ((child.stdio as unknown) !== undefined) return child
    child.once('error', () => {})
    throw Object.assign(new Error('EMFILE: no process could be started'), { code: 'EMFILE' })
  }

  // Arguments that are too long for the kernel throw here and now.
  const startOrUndo = (request: RawRequest, wiring: Wiring): ChildProcess => {
    try {
      return startRaw(request)
    } catch (error) {
      for (const stream of wiring.ours()) stream?.destroy()
      throw error
    }
  }

  return {
    startRaw,
    spawnChild(request) {
      const { stdin, extraDescriptors = [], ...rest } = request
      const wiring = wire([...wireStandard(stdin, nullDescriptor), ...extraDescriptors], makePipe)
      try {
        wiring.giveChildEnds(rest.uid, rest.gid)
        giveTerminal(stdin, rest.uid, rest.gid)
        const child = startOrUndo({ ...rest, stdio: wiring.stdio }, wiring)
        const streams = wiring.ours(child)
        return {
          ...joinStreams(stdin, streams),
          pid: child.pid,
          outputDescriptors: [wiring.ourDescriptor(1), wiring.ourDescriptor(2)],
          ended: childEnd(child),
          kill: (signal) => void child.kill(signal),
          unref() {
            child.unref()
            for (const stream of streams) if (stream instanceof Socket) stream.unref()
          },
          ref() {
            child.ref()
            for (const stream of streams) if (stream instanceof Socket) stream.ref()
          },
        }
      } finally {
        wiring.closeChildEnds()
      }
    },
    close: closingOnce(nullDescriptor),
  }
}

/** Settles on exit, not on close: an escaped process may hold the output open for ever. Never rejects. */
export function childEnd(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error })
    })
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}
