// The verifier's own reading of events.jsonl. It shares the contract with the writer and no code: a mistake in how lines
// are written or folded cannot hide itself here. It believes a line only when every byte of it is accounted for.
import { hash } from 'node:crypto'
import { maxEventBytes } from '../contract/event.ts'
import { actionEnded, actionStarted } from '../contract/recorded-action.ts'
import { transitions, type RunRecord, type RunStatus } from '../contract/run.ts'

const findingKinds = [
  'torn_tail', // the last line is not whole: a crash explains it, and the next open mends it
  'truncated', // events are missing at the end
  'broken', // a line is not as it was written
  'order', // lines were removed, added or moved
  'illegal', // the events say what no run can do
  'run_json', // run.json is not the fold of the events
  'file', // a file is missing, or not what the events say it was
  'artifact', // an artifact is missing, changed, or was added
  'action', // a file of an action is missing, changed, or was added
] as const
export type FindingKind = (typeof findingKinds)[number]

export interface Finding {
  readonly kind: FindingKind
  /** The event, file or artifact. */
  readonly subject: string
  readonly detail: string
}

export interface LogReading {
  readonly findings: readonly Finding[]
  readonly events: number
  readonly bytes: number
  readonly headHash: string | undefined
  readonly record: RunRecord | undefined
  /** The last hash that an event gave for each file. */
  readonly files: ReadonlyMap<string, string>
  /** For each action that ended, the hash of each of its files. */
  readonly actions: ReadonlyMap<number, ReadonlyMap<string, string>>
  /** Actions that began, whether or not their end was recorded. */
  readonly begun: ReadonlySet<number>
}

const fields = 'event_id seq run_id session_id task_id type timestamp actor severity summary data prev_hash hash'.split(
  ' ',
)
const ending = /^,"hash":"([0-9a-f]{64})"\}$/
/** `,"hash":"`, 64 digits, and `"}`. */
const endingBytes = 9 + 64 + 2

const maxKeptBytes = 4 * maxEventBytes

type Line = Readonly<Record<string, unknown>>

export class LogReader {
  readonly #findings: Finding[] = []
  readonly #files = new Map<string, string>()
  readonly #actions = new Map<number, ReadonlyMap<string, string>>()
  readonly #begun = new Set<number>()
  #events = 0
  #bytes = 0
  #last = '0'.repeat(64)
  #record: RunRecord | undefined
  #rest: Buffer = Buffer.alloc(0)
  #stopped = false

  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let from = 0
    for (let to = bytes.indexOf(0x0a); to !== -1; to = bytes.indexOf(0x0a, from)) {
      if (!this.#stopped) this.#line(bytes.subarray(from, to))
      from = to + 1
    }
    // Behind a broken line nothing is believed, so nothing needs to be kept.
    // Of a line that is longer than any can be, the beginning is enough to see that it is none.
    this.#rest = this.#stopped ? Buffer.alloc(0) : Buffer.from(bytes.subarray(from, from + maxKeptBytes))
  }

  end(): LogReading {
    if (this.#rest.length > 0 && !this.#stopped) {
      this.#find('torn_tail', 'what stands at the end is no whole line')
    }
    return {
      findings: this.#findings,
      events: this.#events,
      bytes: this.#bytes,
      headHash: this.#events === 0 ? undefined : this.#last,
      record: this.#record,
      files: this.#files,
      actions: this.#actions,
      begun: this.#begun,
    }
  }

  #line(bytes: Buffer): void {
    const line = parsed(bytes)
    if (line === undefined) return this.#stop('broken', 'the line is not as it was written')
    if (line['prev_hash'] !== this.#last) return this.#stop('order', 'the line does not follow the one before it')
    if (line['seq'] !== this.#events + 1) return this.#stop('order', 'its number does not follow')
    const wrong = this.#fold(line) ?? this.#take(String(line['type']), line['data'] as Line)
    if (wrong !== undefined) return this.#stop('illegal', wrong)
    this.#events += 1
    this.#last = line['hash'] as string
  }

  /** Which files the event vouches for: those of an action, or else those of the run. */
  #take(type: string, data: Line): string | undefined {
    if (type !== actionStarted && type !== actionEnded) {
      for (const [name, hash] of hashesIn(data['files'])) this.#files.set(name, hash)
      return undefined
    }
    const number = data['number']
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1) return 'its action has no number'
    if (type === actionStarted) this.#begun.add(number)
    else if (this.#actions.has(number)) return `action ${number} ends twice`
    else this.#actions.set(number, hashesIn(data['hashes']))
    return undefined
  }

  /** The reason why the event cannot stand here. */
  #fold(line: Line): string | undefined {
    const data = line['data'] as Line
    if (this.#record === undefined) {
      if (line['type'] !== 'run_created') return 'the first event does not create the run'
      this.#record = begin(line, data)
      return undefined
    }
    const { run_id, session_id, task_id, status } = this.#record
    if (line['run_id'] !== run_id || line['session_id'] !== session_id || line['task_id'] !== task_id)
      return 'it belongs to another run'
    if (transitions[status].length === 0) return 'the run had ended before it'
    if (line['type'] === 'run_created') return 'the run is created twice'
    const isEnd = line['type'] === 'run_ended'
    if (!isEnd && line['type'] !== 'state_changed') return undefined
    const to = data['to'] as RunStatus
    if (data['from'] !== status || !transitions[status].includes(to))
      return `a run that is ${status} cannot become ${to}`
    if ((transitions[to].length === 0) !== isEnd) return `${String(line['type'])} cannot lead to ${to}`
    this.#record = moved(this.#record, line, data, to)
    return undefined
  }

  #stop(kind: FindingKind, detail: string): void {
    this.#stopped = true
    this.#find(kind, detail)
  }

  #find(kind: FindingKind, detail: string): void {
    this.#findings.push({ kind, subject: `event ${this.#events + 1}`, detail })
  }
}

/** Undefined unless the bytes are one object with exactly the known fields, in order, under a true hash. */
function parsed(bytes: Buffer): Line | undefined {
  const bodyBytes = bytes.length - endingBytes
  if (bodyBytes < 1) return undefined
  const [, told] = ending.exec(bytes.toString('latin1', bodyBytes)) ?? []
  // Over the bytes, not the text: bytes that are no UTF-8 would read as the same character.
  if (told === undefined || hash('sha256', bytes.subarray(0, bodyBytes)) !== told) return undefined
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(line) && hasFields(line) && isObject(line['data']) ? line : undefined
  } catch {
    return undefined
  }
}

function hasFields(line: Line): boolean {
  const names = Object.keys(line)
  return names.length === fields.length && names.every((name, index) => name === fields[index])
}

const hashesIn = (value: unknown): ReadonlyMap<string, string> =>
  new Map(isObject(value) ? Object.entries(value).map(([name, hash]) => [name, String(hash)]) : [])

const isObject = (value: unknown): value is Line => typeof value === 'object' && value !== null && !Array.isArray(value)

function begin(line: Line, data: Line): RunRecord {
  const at = line['timestamp']
  return {
    ...pick(line, 'session_id task_id run_id'),
    ...pick(data, 'profile_id config_fingerprint layout executor revision_of forked_from'),
    status: 'pending',
    created_at: at,
    updated_at: at,
    started_at: null,
    completed_at: null,
    failure_reason: null,
    state_seq: line['seq'],
    state_hash: line['hash'],
  } as RunRecord
}

function moved(record: RunRecord, line: Line, data: Line, to: RunStatus): RunRecord {
  const at = line['timestamp'] as string
  const hasEnded = transitions[to].length === 0
  return {
    ...record,
    status: to,
    updated_at: at,
    started_at: to === 'running' && record.started_at === null ? at : record.started_at,
    completed_at: hasEnded ? at : null,
    failure_reason: hasEnded && to !== 'completed' ? (data['reason'] as string | null) : null,
    state_seq: line['seq'] as number,
    state_hash: line['hash'] as string,
  }
}

const pick = (from: Line, names: string): Line => Object.fromEntries(names.split(' ').map((name) => [name, from[name]]))
