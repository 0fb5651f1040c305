// A container that serves one command after another. Its keeper tells when a command has ended and nothing of it is left, and
// when the container is as a new one would be; until then no other command comes in.
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Process, ProcessExit, SpawnRequest } from '../../contract/backend.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { inTime, late } from '../../process/in-time.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import type { Terminal } from '../../process/terminal.ts'
import { whileRunning } from '../../process/while-running.ts'
import type { CellEnd } from './cell-end.ts'
import { away, type Circuit } from './circuit.ts'
import type { Containers } from './containers.ts'
import { besideLines, closingLines, openingLines, requestLines, sweepLines, type CommandLimits } from './keeper.ts'
import type { MayBeOfMemory } from './late-memory.ts'
import { endOnTerminal, startOnTerminal } from './on-terminal.ts'
import { openOutlet, type Outlet } from './outlet.ts'
import { exitOf, refusals, signalIn } from './exit.ts'
import { placeElsewhere } from './sight.ts'
import { daemonAway } from './watched.ts'

export interface Cell {
  readonly name: string
  /** What it was made of; a cell of another layout is not used any more. */
  readonly key: string
  /** One at a time. */
  run(request: SpawnRequest, limits?: CommandLimits): Process
  /** After a command: may another one come? Settles, at the latest, with the end of the container. */
  isFit(): Promise<boolean>
  kill(): void
  /** A command runs in it. */
  isAtWork(): boolean
  /** Nothing can be asked of it any more: it was taken away. */
  isLost(): boolean
  /** Ends one that runs no command. */
  close(): void
  /** Settles when nothing runs in it any more. */
  readonly dead: Promise<void>
  /** Settles when the container is gone. */
  readonly gone: Promise<void>
  /** Whether it keeps our process alive. */
  ref(): void
  unref(): void
}

export interface CellParts {
  readonly name: string
  readonly key: string
  readonly child: SpawnedChild
  readonly env: Readonly<Record<string, string>>
  /** What the keeper looks at before it is ready. */
  readonly sight: readonly string[]
  readonly containers: Pick<Containers, 'ranOutOfMemory'>
  readonly cellEnd: CellEnd
  readonly unlessAway: Circuit['unlessAway']
  readonly mayBeOfMemory: MayBeOfMemory
  /** Nobody but the daemon can tell when it has run out of memory: settles when the daemon would, or with the end of the container. */
  readonly untilWatched?: (gone: Promise<void>) => Promise<void>
  /** Starts the shell for a command that reads its input, beside the keeper. */
  startBeside(): SpawnedChild
  /** The same on a terminal. */
  startOnTerminal(size: TerminalSize, terminal: Terminal): SpawnedChild
}

/** Settles when the keeper is ready; rejects with what docker said if it never will be. */
export async function openCell(parts: CellParts): Promise<Cell> {
  const { child, containers, cellEnd, name, mayBeOfMemory } = parts
  const out = openOutlet(child.stdout)
  const err = openOutlet(child.stderr)
  let ending: Promise<void> | undefined
  let kills = 0
  let isAtWork = false
  let isLost = false
  let handedOn: Promise<unknown> = Promise.resolve()
  let fitness: Promise<boolean> = Promise.resolve(true)

  /** Of the container, and then of its last command: what ran out of memory before that is none of its. */
  let begunMs = Date.now()
  child.stdin?.on('error', () => {})
  const ended = child.ended.then(async (end) => {
    isLost = true
    // Docker's own end is not the container's: it may have been killed, or lost its connection.
    if (ending !== undefined) {
      await ending
      return { end, ranOutOfMemory: false }
    }
    const isWaitedFor = (): boolean => ending === undefined
    const unexpected = { startedMs: begunMs, code: end.code, mayBeOfMemory, isWaitedFor }
    const ranOutOfMemory = await containers.ranOutOfMemory(name, unexpected)
    await cellEnd.endRest()
    return { end, ranOutOfMemory }
  })
  // A pipe of ours whose reader is gone stays open until somebody writes to it.
  const gone = ended.then(() => void child.stdin?.destroy())
  let die = (): void => {}
  const dead = Promise.race([gone, new Promise<void>((resolve) => (die = resolve))])
  const kill = (): void => {
    ending ??= cellEnd.end()
  }
  const tell = (lines: string): void => void child.stdin?.write(lines)

  /** What the keeper says behind the mark, word by word. */
  const listen = (outlets: { readonly out: Outlet; readonly err: Outlet }) => {
    const mark = `glovebox-${randomBytes(16).toString('hex')}`
    const heard: string[] = []
    let wake = (): void => {}
    const stdout = outlets.out.begin(mark, (word) => {
      if (/^(?:ready|exit)\b/.test(word)) outlets.out.finish()
      if (word === 'over') die()
      heard.push(word)
      wake()
    })
    let quiet = (): void => {}
    /** Both outputs have been handed on whole; before that the next command's would be mixed with them. */
    const isQuiet = new Promise<void>((resolve) => (quiet = resolve))
    const stderr = outlets.err.begin(mark, () => {
      outlets.err.finish()
      quiet()
    })
    const next = async (until: Promise<unknown>): Promise<string | undefined> => {
      let isOver = false
      void until.then(() => {
        isOver = true
        wake()
      })
      while (heard.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve))
      return heard.shift()
    }
    const isClean = async (): Promise<boolean> => {
      const isSaid = (await next(gone)) === 'clean'
      await Promise.race([isQuiet, gone])
      return isSaid
    }
    return { mark, stdout, stderr, next, isQuiet, isClean }
  }

  /** `exit 3 0`, as the keeper told it; undefined if the container has ended without a word. */
  const conclude = async (told: string | undefined): Promise<ProcessExit> => {
    if (told === undefined) {
      const { end, ranOutOfMemory } = await ended
      return ending !== undefined ? { signal: 'SIGKILL' } : exitOf(end, ranOutOfMemory)
    }
    const [, code = '', killsNow = '0'] = told.split(' ')
    const signal = signalIn(Number(code))
    return withMemory(signal === undefined ? { code: Number(code) } : { signal }, Number(killsNow))
  }

  /** The kernel counts what it kills for its memory; one more than before was of this command. */
  const withMemory = (exit: ProcessExit, killsNow: number): ProcessExit => {
    const isOne = killsNow > kills
    kills = Math.max(kills, killsNow)
    return isOne && exit.signal === 'SIGKILL' ? { ...exit, oomKilled: true } : exit
  }

  const runByKeeper = (request: SpawnRequest, limits?: CommandLimits): Process => {
    const { mark, stdout, stderr, next, isQuiet, isClean } = listen({ out, err })
    tell(requestLines(mark, request, limits))
    handedOn = isQuiet
    const perform = async (): Promise<ProcessExit> => {
      const first = await next(gone)
      const refused = refusals.get(first ?? '')
      if (refused === undefined) return conclude(first)
      await next(gone)
      return refused
    }
    const exit = perform()
    fitness = exit.then(isClean)
    return { stdin: null, stdout, stderr, exit, kill }
  }

  /** Ends what the command beside the keeper has left. */
  const sweep = async (): Promise<{ readonly isSwept: boolean; readonly killsNow: number }> => {
    const { mark, stdout, stderr, next, isClean } = listen({ out, err })
    for (const stream of [stdout, stderr]) stream.resume()
    tell(sweepLines(mark))
    const said = await next(gone)
    return { isSwept: said !== undefined && (await isClean()), killsNow: Number(said?.split(' ')[2] ?? 0) }
  }

  const runBeside = (request: SpawnRequest, limits?: CommandLimits): Process => {
    const beside = parts.startBeside()
    const outlets = { out: openOutlet(beside.stdout), err: openOutlet(beside.stderr) }
    const { mark, stdout, stderr, next } = listen(outlets)
    beside.stdin?.on('error', () => {})
    beside.stdin?.write(besideLines(mark, parts.env, request, limits))
    const perform = async (): Promise<ProcessExit> => {
      // Docker may be gone while its last words are still in the pipe.
      const isOver = Promise.all([beside.ended, closeOf(beside.stdout)])
      const told = await next(Promise.race([isOver, gone]))
      const { isSwept, killsNow } = await sweep()
      fitness = Promise.resolve(isSwept)
      const refused = refusals.get(told ?? '')
      if (refused !== undefined) return refused
      // Without a word its shell was ended from inside; had the container ended, nothing would have been swept.
      const isEndedInside = told === undefined && isSwept && ending === undefined
      return withMemory(isEndedInside ? { signal: 'SIGKILL' } : await conclude(told), killsNow)
    }
    const exit = perform()
    fitness = exit.then(() => fitness)
    void Promise.race([beside.ended, gone]).then(() => beside.stdin?.destroy())
    void gone.then(() => letGo(beside))
    return { stdin: beside.stdin, stdout, stderr, exit, kill }
  }

  const runOnTerminal = (request: SpawnRequest, size: TerminalSize, limits?: CommandLimits): Process => {
    const { stdin, stdout, told, ended, resize, close, abandon } = startOnTerminal({
      size,
      start: (terminal) => parts.startOnTerminal(size, terminal),
      lines: (mark) => besideLines(mark, parts.env, request, limits),
    })
    const perform = async (): Promise<ProcessExit> => {
      const end = await Promise.race([ended, gone.then(() => undefined)])
      const { isSwept, killsNow } = await sweep()
      fitness = Promise.resolve(isSwept)
      close()
      if (end === undefined) abandon()
      if (!isSwept || ending !== undefined) return conclude(undefined)
      return refusals.get((await told) ?? '') ?? withMemory(endOnTerminal(await told, end), killsNow)
    }
    const exit = perform()
    fitness = exit.then(() => fitness)
    return { stdin, stdout, stderr: Readable.from([]), exit, kill, resize }
  }

  const { mark, stdout, stderr, next, isQuiet } = listen({ out, err })
  const complaints: Buffer[] = []
  stdout.resume()
  stderr.on('data', (chunk: Buffer) => complaints.length < 64 && complaints.push(chunk))
  tell(openingLines(mark, parts.env, parts.sight))
  const begin = async (): Promise<string | undefined> => {
    const word = await next(gone)
    await parts.untilWatched?.(gone)
    return word
  }
  const ready = await inTime(parts.unlessAway(begin), mostToBeginMs)
  if (ready === away) {
    kill()
    throw daemonAway()
  }
  if (ready === late) {
    kill()
    throw new Error(`the container gave no sign of life within ${mostToBeginMs / 1000} seconds`)
  }
  await Promise.race([isQuiet, gone])
  const place = placeElsewhere(ready)
  if (place !== undefined) throw new Error(`the container does not show at ${place} what was meant to be there`)
  if (ready === undefined || !ready.startsWith('ready'))
    throw new Error(Buffer.concat(complaints).toString('utf8').trim() || 'the container ended before it was ready')
  kills = Number(ready.split(' ')[1] ?? 0)

  return {
    name,
    key: parts.key,
    run(request, limits) {
      const process =
        request.pty !== undefined
          ? runOnTerminal(request, request.pty, limits)
          : request.stdin === 'pipe'
            ? runBeside(request, limits)
            : runByKeeper(request, limits)
      isAtWork = true
      begunMs = Date.now()
      // Whoever takes its output may be slower than it was, and nothing else can be asked of the keeper until all has been handed on.
      void process.exit.then(() => Promise.race([handedOn, gone])).then(() => (isAtWork = false))
      return whileRunning(process)
    },
    isAtWork: () => isAtWork,
    isLost: () => isLost,
    isFit: async () => ending === undefined && (await fitness) && ending === undefined,
    kill,
    close() {
      const { mark } = listen({ out, err })
      child.stdin?.end(closingLines(mark))
      ending ??= Promise.race([child.ended, delay(patienceMs, undefined, { ref: false })]).then(() => cellEnd.end())
    },
    dead,
    gone,
    ref: () => child.ref(),
    unref: () => child.unref(),
  }
}

const patienceMs = 5000

/** Of a daemon under load; one that has begun nothing by then never will. */
const mostToBeginMs = 60_000

const closeOf = (stream: Readable): Promise<void> =>
  new Promise((resolve) => (stream.closed ? resolve() : void stream.once('close', () => resolve())))

/** With gVisor docker waits on for ever where the container is gone. It may have a last word to hand on before. */
async function letGo(child: SpawnedChild): Promise<void> {
  if ((await inTime(child.ended, lastWordMs)) === late) child.kill('SIGKILL')
}

const lastWordMs = 500
