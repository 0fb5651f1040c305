// The recorded actions of a run, read back: in the order of their start, by descriptor, bounded, and believed only as far
// as the log vouches for them. It writes nothing, and so works on a copy and on a directory that is read-only.
import { hash as digest } from 'node:crypto'
import { join } from 'node:path'
import {
  actionDirectoryName,
  actionEnded,
  actionEndedDataSchema,
  actionStarted,
  recordedActionSchema,
  type KeptAction,
  type KeptName,
  type RecordedAction,
} from '../contract/recorded-action.ts'
import type { RunEvent } from '../contract/event.ts'
import { GloveboxError } from '../errors/error.ts'
import { readEvents } from './reader.ts'
import { openDirectory, readRegular, readingBuffer } from './verify-files.ts'

/** Above what any action is let write down: its input may be as large as a file action takes, escaped as JSON. */
const maxRecordBytes = 128 * 1024 * 1024
/** The longest output that policy lets anybody keep. */
const maxKeptBytes = 500 * 1024 * 1024

/** An action that began, and of whose end there is no record. Of what it was asked only a line is known. */
export interface UnendedAction {
  readonly number: number
  readonly action: string
  readonly about: string
}

export interface ActionIndex {
  readonly ended: readonly IndexedAction[]
  readonly unended: readonly UnendedAction[]
}

interface IndexedAction {
  readonly number: number
  readonly hashes: Readonly<Record<string, string>>
  readonly overlaps: boolean
}

/** What the log says of actions. Memory grows with their number, never with what they wrote. */
export async function indexActions(directory: string): Promise<ActionIndex> {
  const begun = new Map<number, UnendedAction & { readonly overlaps: boolean }>()
  const ended: IndexedAction[] = []
  for await (const event of readEvents(directory)) {
    if (event.type === actionStarted) {
      const started = startedBy(event)
      begun.set(started.number, { ...started, overlaps: begun.size > 0 })
    } else if (event.type === actionEnded) {
      const { number, hashes } = endedBy(event)
      ended.push({ number, hashes, overlaps: begun.get(number)?.overlaps ?? false })
      begun.delete(number)
    }
  }
  const unended = [...begun.values()].map(({ number, action, about }) => ({ number, action, about }))
  return { ended: ended.toSorted((a, b) => a.number - b.number), unended }
}

export async function* readActions(directory: string): AsyncGenerator<KeptAction> {
  const { ended } = await indexActions(directory)
  for (const indexed of ended) yield await readAction(directory, indexed)
}

async function readAction(directory: string, { number, hashes, overlaps }: IndexedAction): Promise<KeptAction> {
  const bytes = await readVouched(directory, { number, name: 'action.json', hashes, maxBytes: maxRecordBytes })
  const record = recordIn(bytes)
  if (record === undefined || record.number !== number) throw damaged(number, 'action.json', 'it is not of its schema')
  const read = async (name: KeptName): Promise<Uint8Array> => {
    const told = record[name]
    if (told === null) throw damaged(number, name, 'action.json speaks of no such file')
    if (told.kept_bytes === 0 && !Object.hasOwn(hashes, name)) return new Uint8Array()
    const kept = await readVouched(directory, { number, name, hashes, maxBytes: maxKeptBytes })
    if (kept.length !== told.kept_bytes || hashes[name] !== told.sha256) {
      throw damaged(number, name, 'log and action.json say different things of it')
    }
    return kept
  }
  return { ...record, files: { read }, overlaps }
}

export interface Vouched {
  readonly number: number
  readonly name: string
  readonly hashes: Readonly<Record<string, string>>
  readonly maxBytes: number
}

export async function readVouched(directory: string, { number, name, hashes, maxBytes }: Vouched): Promise<Buffer> {
  using logs = openDirectory(join(directory, 'logs'))
  using actions = logs?.open('actions')
  using place = actions?.open(actionDirectoryName(number))
  if (place === undefined) throw damaged(number, name, 'its directory is missing')
  const parts: Buffer[] = []
  let total = 0
  const found = await readRegular(place.at(name), readingBuffer(), (part) => {
    total += part.length
    if (total > maxBytes) throw damaged(number, name, `it is larger than ${maxBytes} bytes`)
    parts.push(Buffer.from(part))
  })
  if (found === undefined) throw damaged(number, name, 'it is missing, or no file')
  const bytes = Buffer.concat(parts)
  if (!Object.hasOwn(hashes, name)) throw damaged(number, name, 'no event vouches for it')
  if (digest('sha256', bytes) !== hashes[name])
    throw damaged(number, name, 'it is not what it was when it was recorded')
  return bytes
}

function recordIn(bytes: Buffer): RecordedAction | undefined {
  try {
    const parsed = recordedActionSchema.safeParse(JSON.parse(bytes.toString('utf8')))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

function startedBy({ data, seq }: RunEvent): UnendedAction {
  const { number, action, about } = data
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw misshapen(seq)
  return {
    number,
    action: typeof action === 'string' ? action : '',
    about: typeof about === 'string' ? about : '',
  }
}

function endedBy({ data, seq }: RunEvent): { readonly number: number; readonly hashes: Record<string, string> } {
  const parsed = actionEndedDataSchema.safeParse(data)
  if (!parsed.success) throw misshapen(seq)
  return parsed.data
}

const misshapen = (seq: number): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot read the actions: event ${seq} does not have the form of its type`)

const damaged = (number: number, name: string, cause: string): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot read ${name} of action ${number}: ${cause}`, {
    hint: 'Run: glovebox runs verify. What is damaged is never repeated.',
    facts: { number, file: name },
  })
