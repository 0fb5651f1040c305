// Which descriptor of a child is joined to which stream of ours. Kept apart from the starting itself, because a child may
// be started by another thread, which then gets plain descriptor numbers.
import type { ChildProcess } from 'node:child_process'
import { closeSync, fchownSync, openSync, writeSync } from 'node:fs'
import { Readable, type Writable } from 'node:stream'
import { readEnd, writeEnd, type MakePipe } from './pipes.ts'
import type { ExtraDescriptor } from './spawn.ts'

type Stream = Readable | Writable

export interface Wiring {
  /** By index: a descriptor for the child, or `pipe` where Node is to make one. */
  readonly stdio: readonly (number | 'pipe')[]
  /** The descriptors among them that only the child is to keep. */
  readonly childEnds: readonly number[]
  closeChildEnds(): void
  /** Opening /dev/stdout anew asks for the owner of the pipe, so a child of another id is given its ends. */
  giveChildEnds(uid: number | undefined, gid: number | undefined): void
  /** Our streams by index; a descriptor that was passed on has none. `child` is asked for those that Node made. */
  ours(child?: ChildProcess): readonly (Stream | undefined)[]
  /** The descriptor behind a stream of ours, by index; undefined where Node made the stream. */
  ourDescriptor(index: number): number | undefined
}

export function wire(wanted: readonly ExtraDescriptor[], makePipe: MakePipe | undefined): Wiring {
  const childEnds: number[] = []
  const openers: ((descriptor: number) => Stream)[] = []
  const streams: (Stream | undefined)[] = []
  const ourDescriptors: (number | undefined)[] = []
  const join = (entry: ExtraDescriptor): number | 'pipe' => {
    openers.push(entry === 'toChild' ? writeEnd : readEnd)
    ourDescriptors.push(undefined)
    if (typeof entry === 'number') return entry
    if (makePipe === undefined) return 'pipe'
    const [reading, writing] = makePipe()
    if (typeof entry === 'object') {
      childEnds.push(reading)
      fill(writing, entry.holds)
      return reading
    }
    const written = entry === 'reportFromChild' ? openBothWays(writing, reading) : writing
    const [child, our] = entry === 'toChild' ? [reading, writing] : [written, reading]
    childEnds.push(child)
    ourDescriptors[ourDescriptors.length - 1] = our
    return child
  }
  const stdio = allOrNothing(() => wanted.map(join), { childEnds, ourDescriptors })
  // Not before they are asked for: a socket reads at once, and its end would be told while nobody listens yet.
  const streamAt = (index: number): Stream | undefined => {
    const descriptor = ourDescriptors[index]
    if (descriptor === undefined) return undefined
    return (streams[index] ??= openers[index]?.(descriptor))
  }
  return {
    stdio,
    childEnds,
    closeChildEnds: () => childEnds.forEach((descriptor) => closeSync(descriptor)),
    giveChildEnds(uid, gid) {
      if (uid !== undefined && gid !== undefined) for (const descriptor of childEnds) fchownSync(descriptor, uid, gid)
    },
    ours: (child) =>
      stdio.map((entry, index) => {
        if (entry !== 'pipe') return streamAt(index)
        const made = child?.stdio[index] as Stream | undefined
        const asked = wanted[index]
        if (typeof asked !== 'object') return made
        finish(made as Writable | undefined, asked.holds)
        return undefined
      }),
    ourDescriptor: (index) => ourDescriptors[index],
  }
}

/** When descriptors run out half-way, those that were opened are given back. */
function allOrNothing<T>(
  open: () => T,
  opened: { readonly childEnds: readonly number[]; readonly ourDescriptors: readonly (number | undefined)[] },
): T {
  try {
    return open()
  } catch (error) {
    for (const descriptor of opened.ourDescriptors) if (descriptor !== undefined) closeSync(descriptor)
    for (const descriptor of opened.childEnds) closeSync(descriptor)
    throw error
  }
}

// What a pipe takes before anybody reads, on every Linux.
const pipeCapacity = 65_536

/** Before the child starts, so that it need not wait for us to get to it. */
function fill(writing: number, bytes: Uint8Array): void {
  if (bytes.length > pipeCapacity) return finish(writeEnd(writing), bytes)
  try {
    writeSync(writing, bytes)
  } finally {
    closeSync(writing)
  }
}

/** A child that ends without reading it all has its reasons. */
function finish(stream: Writable | undefined, bytes: Uint8Array): void {
  stream?.on('error', () => {})
  stream?.end(bytes)
}

/** A pipe that its writer has open for reading as well never lacks a reader. */
function openBothWays(writing: number, reading: number): number {
  try {
    return openSync(`/proc/self/fd/${writing}`, 'r+')
  } catch (error) {
    closeSync(reading)
    throw error
  } finally {
    closeSync(writing)
  }
}

/** What a child has as its standard input. `report`: it is no input, but a pipe on which the child tells us something.
 * `terminal`: the child's end of one, which is its output as well, and of which we have our own end elsewhere. Its error output is
 * still a pipe: what cannot be started says so to us, and not to whoever is to use the terminal. */
export type StandardInput = 'none' | 'pipe' | 'report' | { readonly terminal: number }

export function wireStandard(stdin: StandardInput, nullDescriptor: number): readonly ExtraDescriptor[] {
  if (typeof stdin === 'object') return [stdin.terminal, stdin.terminal, 'fromChild']
  const input = stdin === 'none' ? nullDescriptor : stdin === 'pipe' ? 'toChild' : 'fromChild'
  return [input, 'fromChild', 'fromChild']
}

/** A terminal is opened anew by its user, who must own it. */
export function giveTerminal(stdin: StandardInput, uid: number | undefined, gid: number | undefined): void {
  if (typeof stdin === 'object' && uid !== undefined && gid !== undefined) fchownSync(stdin.terminal, uid, gid)
}

export interface JoinedStreams {
  readonly stdin: Writable | null
  readonly report: Readable | null
  readonly stdout: Readable
  readonly stderr: Readable
  readonly pipes: readonly Stream[]
}

export function joinStreams(stdin: StandardInput, streams: readonly (Stream | undefined)[]): JoinedStreams {
  const [first, stdout, stderr, ...extra] = streams
  return {
    stdin: stdin === 'pipe' ? (first as Writable) : null,
    report: stdin === 'report' ? (first as Readable) : null,
    stdout: (stdout as Readable | undefined) ?? nothing(),
    stderr: (stderr as Readable | undefined) ?? nothing(),
    pipes: extra.filter((stream) => stream !== undefined),
  }
}

const nothing = (): Readable => Readable.from([])
