// Reading a run without taking hold of it: for lists, for tails, and for runs that are damaged and therefore frozen.
// It changes nothing, and gives the events as far as they can be trusted.
import { readFileSync, statSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { maxEventBytes, type RunEvent } from '../contract/event.ts'
import { runRecordSchema, type RunRecord } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { isErrno } from '../paths/refusal.ts'
import { decodeLine } from './chain.ts'
import { placeIn } from './layout.ts'
import { scanLog, type Scan } from './scan.ts'

const chunkBytes = 256 * 1024

export interface RunView {
  readonly directory: string
  /** The fold of the trustworthy events. Null when not even the first one can be read: show it as failed (corrupt). */
  readonly record: RunRecord | null
  /** `torn`: the next open mends it. `broken`: frozen; nothing mends it. */
  readonly integrity: 'intact' | 'torn' | 'broken'
  readonly damage: string | null
  readonly events: number
}

export async function readRun(directory: string): Promise<RunView> {
  const scan = await scanRun(directory)
  const damage = damageOf(scan, findRunJson(directory)) ?? null
  return {
    directory,
    record: scan.record ?? null,
    integrity: damage !== null ? 'broken' : scan.rest === 'torn' ? 'torn' : 'intact',
    damage,
    events: scan.head.seq,
  }
}

export function scanRun(directory: string, onEvent?: (event: RunEvent) => void): Promise<Scan> {
  refuseOther(directory)
  return scanLog(placeIn(directory, 'events.jsonl'), onEvent === undefined ? {} : { onEvent })
}

/** A directory without a log is no run. */
export function refuseOther(directory: string): void {
  if (statSync(placeIn(directory, 'events.jsonl'), { throwIfNoEntry: false })?.isFile() === true) return
  throw new GloveboxError('NOT_FOUND', 'Cannot open the run: there is no events.jsonl', {
    hint: 'Name the directory of a run.',
    operatorDetail: directory,
  })
}

/** What no crash can explain. An event is synced before run.json speaks of it, so a log that ends earlier was cut. */
export function damageOf(scan: Scan, runJson: RunRecord | undefined): string | undefined {
  if (scan.damage !== undefined) return scan.damage
  if (scan.record === undefined) return 'not even the first event can be read'
  const isCut = runJson !== undefined && runJson.state_seq > scan.head.seq
  return isCut && scan.rest === 'none'
    ? `run.json speaks of event ${runJson.state_seq}, and the log ends at ${scan.head.seq}`
    : undefined
}

/** Undefined when it is missing, empty (as ext4 leaves an unsynced rename), or not of its schema. */
export function findRunJson(directory: string): RunRecord | undefined {
  try {
    const parsed = runRecordSchema.safeParse(JSON.parse(readFileSync(placeIn(directory, 'run.json'), 'utf8')))
    return parsed.success ? parsed.data : undefined
  } catch (error) {
    if (error instanceof SyntaxError || isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export interface EventsOptions {
  /** Begin behind this event. Default 0. */
  readonly afterSeq?: number
}

/** In order, as far as every line is whole. Memory does not grow with the log. */
export async function* readEvents(directory: string, { afterSeq = 0 }: EventsOptions = {}): AsyncGenerator<RunEvent> {
  const file = await open(placeIn(directory, 'events.jsonl'), 'r')
  try {
    for await (const line of lines(file)) {
      const event = decodeLine(line)
      if (event === undefined) return
      if (event.seq > afterSeq) yield event
    }
  } finally {
    await file.close()
  }
}

async function* lines(file: FileHandle): AsyncGenerator<Buffer> {
  let partial: Buffer = Buffer.alloc(0)
  for (let position = 0; ;) {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, position)
    if (bytesRead === 0) return
    position += bytesRead
    const bytes = Buffer.concat([partial, chunk.subarray(0, bytesRead)])
    let from = 0
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      yield bytes.subarray(from, at)
      from = at + 1
    }
    partial = bytes.subarray(from)
    // No event is so long: what follows is no part of the log.
    if (partial.length > maxEventBytes) return
  }
}
