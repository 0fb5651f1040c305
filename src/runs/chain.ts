// Events as lines: how one is written, and whether a line is what it claims to be. The form is told in contract/event.ts.
import { hash as digest } from 'node:crypto'
import { chance } from '../contract/chance.ts'
import { eventSchema, maxEventBytes, type EventInput, type RunEvent } from '../contract/event.ts'
import { GloveboxError } from '../errors/error.ts'

/** Where the log stands: what the next event must follow. */
export interface Head {
  readonly seq: number
  readonly hash: string
}

export interface RunIds {
  readonly run_id: string
  readonly session_id: string
  readonly task_id: string
}

export interface EncodedEvent {
  readonly event: RunEvent
  /** With the line break. */
  readonly line: Buffer
}

const hashKey = ',"hash":"'
/** `,"hash":"` + 64 digits + `"}` */
export const sealLength = hashKey.length + 64 + 2

export function encodeEvent(input: EventInput, head: Head, ids: RunIds, timestamp: string): EncodedEvent {
  const unsealed = {
    event_id: `evt_${chance()}`,
    seq: head.seq + 1,
    run_id: ids.run_id,
    session_id: ids.session_id,
    task_id: ids.task_id,
    type: input.type,
    timestamp,
    actor: input.actor ?? 'runtime',
    severity: input.severity ?? 'info',
    summary: input.summary,
    data: input.data ?? {},
    prev_hash: head.hash,
  }
  const body = Buffer.from(JSON.stringify(unsealed).slice(0, -1))
  const line = Buffer.concat([body, Buffer.from(`${sealFor(body)}\n`)])
  if (line.length > maxEventBytes) throw tooLarge(input.type, line.length)
  // What is written is what was checked: the parsed line, not the caller's object, which may hold getters or dates.
  const event = eventSchema.safeParse(JSON.parse(line.toString('utf8')))
  if (!event.success) throw misshapen(event.error.issues[0])
  return { event: event.data, line }
}

/** What closes a line that begins with `body`. */
export const sealFor = (body: Buffer): string => `${hashKey}${digest('sha256', body)}"}`

/** The event in a line without its break, or undefined if any byte of the line is not as it was written. */
export function decodeLine(line: Buffer): RunEvent | undefined {
  const hash = sealOf(line)
  if (hash === undefined || digest('sha256', line.subarray(0, line.length - sealLength)) !== hash) return undefined
  try {
    const event = eventSchema.safeParse(JSON.parse(line.toString('utf8')))
    return event.success ? event.data : undefined
  } catch {
    return undefined
  }
}

export const follows = (head: Head, event: RunEvent): boolean =>
  event.seq === head.seq + 1 && event.prev_hash === head.hash

/** The hash that a line ends with, whether or not it is the right one. */
export function sealOf(line: Buffer): string | undefined {
  const seal = line.subarray(Math.max(0, line.length - sealLength)).toString('latin1')
  return /^,"hash":"([0-9a-f]{64})"\}$/.exec(seal)?.[1]
}

const tooLarge = (type: string, bytes: number): GloveboxError =>
  new GloveboxError(
    'TOO_LARGE',
    `Cannot record the event ${type}: it has ${bytes} bytes, and at most ${maxEventBytes} are allowed`,
    {
      hint: 'Write what is large to a file of the run, and record its name and hash.',
    },
  )

const misshapen = (
  issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
): GloveboxError =>
  new GloveboxError(
    'INVALID_INPUT',
    `Cannot record the event: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is misshapen'}`,
  )
