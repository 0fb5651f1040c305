// A boundary that serves one command after another, at the cost of one fork inside. It is used again only while nobody could
// tell it from a new one: no process is left, nothing lies in its private places, and every mount of it still stands.
import { readdirSync, readFileSync } from 'node:fs'
import type { Process, ProcessExit } from '../../contract/backend.ts'
import type { Asking } from '../../process/asking.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import { whileRunning } from '../../process/while-running.ts'
import { signalIn } from './exit.ts'
import { watchChildren } from './children.ts'
import { begun, goOn } from './keeper.ts'
import { watchMounts } from './mounts.ts'
import { openOutlet } from './outlet.ts'
import { blameMemory, followBwrap, type Gatekeeping } from './process.ts'
import { readReports } from './reports.ts'

export interface CellProcess extends Process {
  /** False: nothing of the command has run, nor will. */
  readonly begun: Promise<boolean>
}

export interface Cell {
  /** One at a time. */
  run(line: string): CellProcess
  /** Settles when the keeper waits for a command; false: it never will. */
  readonly ready: Promise<boolean>
  /** After a command: may another one come? Settles, at the latest, with the end of the cell. */
  isFit(): Promise<boolean>
  /** The command has ended and all that it wrote is handed on; whether the cell is fit will be known in a moment. */
  isSettling(): boolean
  /** The same as `isFit`, for whoever cannot wait for that moment. */
  settle(): Promise<boolean>
  /** SECURITY: a name that the host has replaced since has lost what was mounted over it.
   * test/attacks/cells: "a protected name that the host replaced is guarded again in the next command" */
  stands(mountPoints: readonly string[]): boolean
  kill(): void
  /** Settles when everything inside has ended. */
  readonly gone: Promise<unknown>
  /** Whether it keeps our process alive. */
  ref(): void
  unref(): void
}

export interface CellParts extends Gatekeeping {
  readonly asking: Asking
  /** Directories of its own in which a command may have left something. */
  readonly privatePlaces: readonly string[]
  /** It has a network of its own, and the kernel's memory of closed connections with it. */
  readonly ownNetwork: boolean
}

/** Whoever waits for the command's end, and be it over HTTP, has it before the cell is looked over. */
const lookAfterMs = 2

export function openCell(child: SpawnedChild, parts: CellParts): Cell {
  const followed = followBwrap(child, parts)
  const [outDescriptor, errDescriptor] = child.outputDescriptors as readonly [number, number]
  const out = openOutlet(child.stdout, outDescriptor, parts.asking)
  const err = openOutlet(child.stderr, errDescriptor, parts.asking)
  const reports = readReports(child.report)
  const ready = reports.next().then((word) => {
    prepare()
    return word === 'ready'
  })
  let fitness: Promise<boolean> = Promise.resolve(true)
  let knownPid: number | undefined
  let settling = false
  let lookNow = (): void => {}
  const mounts = watchMounts(parts.asking)
  const children = watchChildren()
  const known = followed.firstPid.then((pid) => (knownPid = pid))

  const perform = async (line: string, begin: (isBegun: boolean) => void): Promise<ProcessExit> => {
    // Not awaited once it is known: a turn of the loop is a good part of a warm command's time.
    const pid = knownPid ?? (await known)
    if (pid === undefined) return followed.exit
    followed.word.write(`${line}\n`)
    if (!(await ready)) return withoutReport(await followed.exit)
    const first = await reports.next()
    begin(first === begun)
    if (first !== undefined && first !== begun) {
      followed.kill()
      await followed.exit
      return { lost: `the process that was to become the command had ended with ${first}` }
    }
    const report = await reports.next()
    if (report === undefined) return withoutReport(await followed.exit)
    const refused = refusals.get(report)
    if (refused !== undefined) return { setupFailed: refused }
    const code = Number(report)
    const signal = signalIn(code)
    const exit = signal === undefined ? { code } : { signal }
    if (children.isAny(pid)) {
      // What the command left running ends with it, and with the cell.
      followed.kill()
      await followed.exit
    }
    return blameMemory(exit, parts)
  }

  let isIdle = true
  // Nobody reads any more from a cell that ended at rest; else whoever still does lets go of the pipes at their end.
  const gone = followed.exit.then(() => {
    mounts.close()
    children.close()
    if (isIdle) for (const pipe of [child.stdout, child.stderr, child.report]) pipe?.destroy()
  })

  const becomesFit = async (performed: Promise<ProcessExit>): Promise<boolean> => {
    const { code, signal } = await performed
    if (code === undefined && signal === undefined) return false
    await Promise.all([out.finish(), err.finish()])
    settling = true
    const asked = new Promise<void>((resolve) => {
      lookNow = resolve
      setTimeout(resolve, lookAfterMs).unref()
    })
    const report = await reports.next()
    await asked
    settling = false
    const isFit = report === 'clean' && isEmpty()
    if (isFit) {
      followed.word.write(`${goOn}\n`)
      prepare()
    }
    return isFit
  }

  const prepare = (): void => {
    for (const outlet of [out, err]) outlet.prepare()
  }
  const isEmpty = (): boolean =>
    knownPid !== undefined &&
    parts.privatePlaces.every((place) => readdirSync(`/proc/${knownPid}/root${place}`).length === 0) &&
    (!parts.ownNetwork || !remembersConnections(knownPid))

  return {
    run(line) {
      isIdle = false
      const [stdout, stderr] = [out.begin(), err.begin()]
      let begin: (isBegun: boolean) => void = () => {}
      const isBegun = new Promise<boolean>((resolve) => (begin = resolve))
      const exit = perform(line, begin).finally(() => begin(false))
      fitness = becomesFit(exit)
        .catch(() => false)
        .finally(() => (isIdle = true))
      return { ...whileRunning({ stdin: null, stdout, stderr, exit, kill: followed.kill }), begun: isBegun }
    },
    ready,
    isFit: () => fitness,
    isSettling: () => settling,
    settle() {
      lookNow()
      return fitness
    },
    stands: (mountPoints) => knownPid !== undefined && mounts.stand(knownPid, mountPoints),
    kill: followed.kill,
    gone,
    ref: () => child.ref(),
    unref: () => child.unref(),
  }
}

/** What the keeper says of a command that it did not start. */
const refusals: ReadonlyMap<string, string> = new Map([
  ['nowhere', 'the working directory cannot be entered'],
  ['unlimited', 'the limits could not be set'],
])

/** The keeper itself has ended: by our hand, for want of memory, or by nobody knows whom. */
function withoutReport(exit: ProcessExit): ProcessExit {
  if (exit.code === undefined) return exit
  return { lost: `the first process inside ended with ${exit.code} before it reported the command's end` }
}

/** A port on which something was served stays taken for a minute after its connections were closed. */
const remembersConnections = (pid: number): boolean =>
  !/^TCP: .* tw 0 /m.test(readFileSync(`/proc/${pid}/net/sockstat`, 'utf8'))
