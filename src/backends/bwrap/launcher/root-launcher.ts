// The launcher for root: asks its thread, and joins the streams of children that the thread started.
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { kill } from 'node:process'
import { Worker } from 'node:worker_threads'
import { GloveboxError } from '../../../errors/error.ts'
import { closingOnce } from '../../../process/closing-once.ts'
import { loadPipes, type MakePipe } from '../../../process/pipes.ts'
import type { ChildEnd } from '../../../process/spawn.ts'
import { giveTerminal, joinStreams, wire, wireStandard } from '../../../process/wiring.ts'
import { guestKernelId } from './kernel-id.ts'
import type { Launcher } from './launcher.ts'
import type { Answer, FromThread, LaidLayers, ThreadData, ToThread } from './messages.ts'

export async function openRootLauncher(bwrapPath: string): Promise<Launcher> {
  const makePipe = loadPipes()
  if (makePipe === undefined) throw unavailable('koffi is not installed')
  // Before there is a thread: one that is ended from outside closes nothing of what it has opened.
  const nullDescriptor = openSync('/dev/null', 'r+')
  try {
    const data: ThreadData = { bwrapPath, kernelId: guestKernelId }
    const thread = new Worker(threadFile(), { workerData: data, env: {}, trackUnmanagedFds: false })
    await firstWord(thread)
    return launchThrough(thread, { makePipe, nullDescriptor })
  } catch (error) {
    closeSync(nullDescriptor)
    throw error
  }
}

/** Descriptors before the extra ones. */
const standardCount = 3

interface Means {
  readonly makePipe: MakePipe
  readonly nullDescriptor: number
}

function launchThrough(thread: Worker, { makePipe, nullDescriptor }: Means): Launcher {
  const talk = converse(thread)
  const closeNull = closingOnce(nullDescriptor)
  return {
    stage: async (request) => (await talk.ask({ kind: 'stage', request })) as string,
    layer: async (request) => (await talk.ask({ kind: 'layer', request })) as LaidLayers,
    unstage: async (target) => void (await talk.ask({ kind: 'unstage', target })),
    async launch({ file, args, stdin, extraDescriptors }) {
      const wiring = wire([...wireStandard(stdin, nullDescriptor), ...extraDescriptors], makePipe)
      const stdio = wiring.stdio as readonly number[]
      wiring.giveChildEnds(guestKernelId, guestKernelId)
      giveTerminal(stdin, guestKernelId, guestKernelId)
      // bwrap holds this one to its end, and lets nothing inside have it.
      const report = extraDescriptors.indexOf('reportFromChild')
      const request = { file, args, stdio, childEnds: wiring.childEnds, seesEnd: report >= 0 }
      const pid = (await talk.ask({ kind: 'launch', request }).catch((error: unknown) => {
        for (const stream of wiring.ours()) stream?.destroy()
        throw error
      })) as number
      const ended = talk.endOf(pid)
      let running = true
      void ended.then(() => (running = false))
      const streams = wiring.ours()
      // An end that was told already is told no second time.
      if (report >= 0)
        streams[standardCount + report]?.once('close', () => void talk.ask({ kind: 'ended', pid }).catch(() => {}))
      const sockets = streams.filter((stream) => stream instanceof Socket)
      return {
        ...joinStreams(stdin, streams),
        outputDescriptors: [wiring.ourDescriptor(1), wiring.ourDescriptor(2)],
        pid,
        ended,
        unref() {
          talk.disregard(pid)
          for (const socket of sockets) socket.unref()
        },
        ref() {
          talk.regard(pid)
          for (const socket of sockets) socket.ref()
        },
        kill(signal) {
          // Not after the end: the number may by then belong to somebody else's process.
          if (running) killQuietly(pid, signal)
        },
      }
    },
    async close() {
      closeNull()
      await talk.ask({ kind: 'close' }).catch(() => {})
      await thread.terminate()
    },
  }
}

/** A thread needs JavaScript: when the sources themselves are run, as by tests, it comes from the build. */
const threadFile = (): URL =>
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../../dist/backends/bwrap/launcher/thread.js' : './thread.js',
    import.meta.url,
  )

const failure = ({ what, code }: { readonly what: string; readonly code?: string }): Error =>
  Object.assign(new Error(what), code === undefined ? {} : { code })

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch {
    // Already gone.
  }
}

function unavailable(detail: string): GloveboxError {
  return new GloveboxError(
    'BACKEND_UNAVAILABLE',
    'Cannot start bubblewrap as root: the launcher could not lay mounts of its own',
    {
      hint: 'Run Glovebox as an ordinary user; or, as root, install the optional package koffi and keep CAP_SYS_ADMIN.',
      operatorDetail: detail,
    },
  )
}

function firstWord(thread: Worker): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    thread.once('message', () => resolve())
    thread.once('error', (error) => reject(unavailable(error.message)))
  })
}

type Question = ToThread extends infer T ? (T extends ToThread ? Omit<T, 'serial'> : never) : never

interface Conversation {
  ask(question: Question): Promise<Answer>
  endOf(pid: number): Promise<ChildEnd>
  /** Whether the program stays alive for the end of this one. From the start it does. */
  regard(pid: number): void
  disregard(pid: number): void
}

/** Questions and answers by serial number. The thread keeps the program alive only while something is awaited. */
function converse(thread: Worker): Conversation {
  const waiting = new Map<number, { resolve(value: Answer): void; reject(error: Error): void }>()
  const exits = new Map<number, (end: ChildEnd) => void>()
  const early = new Map<number, ChildEnd>()
  const disregarded = new Set<number>()
  let serial = 0
  let fault: Error | undefined
  const settleRefs = (): void => (waiting.size === 0 && exits.size === disregarded.size ? thread.unref() : thread.ref())

  const onExited = (pid: number, end: ChildEnd): void => {
    const settle = exits.get(pid)
    exits.delete(pid)
    disregarded.delete(pid)
    if (settle === undefined) early.set(pid, end)
    else settle(end)
  }
  thread.on('message', (message: FromThread) => {
    if (message.kind === 'exited') onExited(message.pid, { code: message.code, signal: message.signal })
    else if (message.kind !== 'ready') {
      const asked = waiting.get(message.serial)
      waiting.delete(message.serial)
      if (message.kind === 'done') asked?.resolve(message.value)
      else asked?.reject(failure(message))
    }
    settleRefs()
  })
  const onFault = (error: Error): void => {
    fault = error
    for (const asked of waiting.values()) asked.reject(error)
    for (const settle of exits.values()) settle({ code: null, signal: null, error })
    waiting.clear()
    exits.clear()
    disregarded.clear()
  }
  thread.on('error', onFault)
  thread.on('exit', () => onFault(new Error('the launcher thread has ended')))
  settleRefs()

  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (fault !== undefined) return reject(fault)
        serial += 1
        waiting.set(serial, { resolve, reject })
        settleRefs()
        thread.postMessage({ ...question, serial })
      }),
    endOf: (pid) =>
      new Promise((resolve) => {
        const known = early.get(pid)
        early.delete(pid)
        if (known !== undefined) return resolve(known)
        exits.set(pid, resolve)
        settleRefs()
      }),
    regard(pid) {
      disregarded.delete(pid)
      settleRefs()
    },
    disregard(pid) {
      if (exits.has(pid)) disregarded.add(pid)
      settleRefs()
    },
  }
}
