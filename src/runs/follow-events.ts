// The events of a run from any point on, and then those to come, until its end. Each line must follow the one before it;
// half a line is waited for, since its writer may be at work. It holds nothing and changes nothing.
import { open, type FileHandle } from 'node:fs/promises'
import { firstPrevHash, maxEventBytes, type RunEvent } from '../contract/event.ts'
import { isTerminal, needsOwner, runStatuses, type RunStatus } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { decodeLine, follows, type Head } from './chain.ts'
import { glances } from './glances.ts'
import { placeIn } from './layout.ts'
import { findOwner } from './ownership.ts'
import { refuseOther } from './reader.ts'
import { asStorageError } from './storage-error.ts'

const partBytes = 256 * 1024
const lineBreak = 10

export interface FollowEventsOptions {
  /** Begin behind this event. Default 0. */
  readonly afterSeq?: number
  /** Ends it; nothing is thrown. */
  readonly signal: AbortSignal
  /** Look at least so often, whatever the kernel tells. */
  readonly everyMs?: number
}

/** Ends with the run, or when the process at work on it is gone. RECORD_DAMAGED where a whole line is no event. */
export async function* followEvents(directory: string, options: FollowEventsOptions): AsyncGenerator<RunEvent> {
  refuseOther(directory)
  const tail = new Tail(placeIn(directory, 'events.jsonl'))
  const afterSeq = options.afterSeq ?? 0
  let status: RunStatus = 'pending'
  for await (const _ of glances(directory, options)) {
    // Asked before the last look: what a living process wrote before it ended is then still seen.
    const isOver = needsOwner(status) && findOwner(directory)?.isAlive !== true
    let count = 0
    for await (const event of tail.news()) {
      count += 1
      status = statusAfter(event, status)
      if (event.seq > afterSeq) yield event
      if (isTerminal(status) || options.signal.aborted) return
    }
    if (isOver && count === 0) return
  }
}

function statusAfter({ type, data }: RunEvent, status: RunStatus): RunStatus {
  if (type !== 'state_changed' && type !== 'run_ended') return status
  return runStatuses.find((known) => known === data['to']) ?? status
}

class Tail {
  readonly #path: string
  #position = 0
  #head: Head = { seq: 0, hash: firstPrevHash }

  constructor(path: string) {
    this.#path = path
  }

  /** Whole lines that have come since the last time. What is not whole yet is read again later. */
  async *news(): AsyncGenerator<RunEvent> {
    const file = await openLog(this.#path)
    try {
      for (;;) {
        const part = Buffer.allocUnsafe(partBytes)
        const { bytesRead } = await file.read(part, 0, partBytes, this.#position)
        const bytes = part.subarray(0, bytesRead)
        const end = bytes.lastIndexOf(lineBreak) + 1
        if (end === 0 && bytesRead > maxEventBytes) throw damaged(this.#head.seq)
        if (end === 0) return
        yield* this.#lines(bytes.subarray(0, end))
      }
    } finally {
      await file.close()
    }
  }

  *#lines(bytes: Buffer): Generator<RunEvent> {
    let from = 0
    for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, from)) {
      const event = decodeLine(bytes.subarray(from, at))
      if (event === undefined || !follows(this.#head, event)) throw damaged(this.#head.seq)
      this.#head = { seq: event.seq, hash: event.hash }
      this.#position += at + 1 - from
      from = at + 1
      yield event
    }
  }
}

async function openLog(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    throw asStorageError(error, 'read the events of the run')
  }
}

const damaged = (seq: number): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot read further: the line behind event ${seq} is not as it was written`, {
    hint: '`glovebox runs verify` tells more.',
  })
