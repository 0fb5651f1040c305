// Words to a run from outside of its process: answers, and the wish that it ends. They lie in logs/inbox.jsonl, one JSON
// object on a line, and are only ever added, by one write each, so that several writers need no lock. What the run makes of
// a message stands in its events; the inbox is no record. The guest does not see it.
import { closeSync, constants, openSync, fstatSync, readSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { chance } from '../contract/chance.ts'
import { idSchema, isTerminal, timestampSchema } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { syncFile } from '../paths/content.ts'
import { isErrno } from '../paths/refusal.ts'
import { glances } from './glances.ts'
import { placeIn } from './layout.ts'
import { ended } from './machine.ts'
import { findRunJson, refuseOther } from './reader.ts'
import { asStorageError } from './storage-error.ts'

export const maxAnswerBytes = 64 * 1024
/** JSON writes a byte with at most six characters. */
const maxLineBytes = 6 * maxAnswerBytes + 1024
const maxInboxBytes = 4 * 1024 * 1024
const partBytes = 64 * 1024
const lineBreak = 10

const stamp = { id: z.string().regex(/^msg_[0-9a-f]{32}$/), time: timestampSchema }
const answerText = z
  .string()
  .min(1, 'must not be empty')
  .refine((text) => Buffer.byteLength(text) <= maxAnswerBytes, `must be at most ${maxAnswerBytes} bytes long`)

const messageSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...stamp, kind: z.literal('answer'), question: idSchema, text: answerText }),
  z.strictObject({ ...stamp, kind: z.literal('cancel') }),
])
export type Message = z.infer<typeof messageSchema>

export type MessageInput =
  | { readonly kind: 'answer'; readonly question: string; readonly text: string }
  | { readonly kind: 'cancel' }

const inboxOf = (directory: string): string => join(placeIn(directory, 'logs'), 'inbox.jsonl')

/** Answers when the message outlives a power cut. Refused with RUN_ENDED when nobody will ever read it. */
export async function leaveMessage(directory: string, input: MessageInput): Promise<Message> {
  const message = checked(input)
  refuseOther(directory)
  const status = findRunJson(directory)?.status
  if (status !== undefined && isTerminal(status)) throw ended(status)
  try {
    await add(inboxOf(directory), Buffer.from(`${JSON.stringify(message)}\n`))
  } catch (error) {
    throw asStorageError(error, 'leave a message for the run')
  }
  return message
}

function checked(input: MessageInput): Message {
  const parsed = messageSchema.safeParse({
    id: `msg_${chance()}`,
    time: new Date().toISOString(),
    ...input,
  })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot leave a message for the run: the ${issue?.path.join('.') || 'message'} ${issue?.message ?? ''}`,
  )
}

async function add(path: string, line: Buffer): Promise<void> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const fd = openSync(path, flags, 0o600)
  try {
    const { size } = fstatSync(fd)
    if (size + line.length > maxInboxBytes) throw full()
    // Half a line of a writer that was killed must not swallow this one.
    const bytes = endsInHalfALine(fd, size) ? Buffer.concat([Buffer.of(lineBreak), line]) : line
    if (writeSync(fd, bytes) !== bytes.length) {
      throw new GloveboxError('NO_SPACE', 'Cannot leave a message for the run: no space is left')
    }
    // Not at once: a disk may take long, and a server has others to answer.
    await syncFile(fd)
  } finally {
    closeSync(fd)
  }
}

function endsInHalfALine(fd: number, size: number): boolean {
  const last = Buffer.of(lineBreak)
  if (size > 0) readSync(fd, last, 0, 1, size - 1)
  return last[0] !== lineBreak
}

const full = (): GloveboxError =>
  new GloveboxError('TOO_LARGE', 'Cannot leave a message for the run: its inbox is full', {
    hint: 'The run does not read its messages. Is its process alive?',
  })

export interface FollowInboxOptions {
  /** Ends it; nothing is thrown. */
  readonly signal: AbortSignal
  /** Look at least so often, whatever the kernel tells. */
  readonly everyMs?: number
}

/** All messages from the first, and then those to come. What is no whole message is passed over. */
export async function* followInbox(directory: string, options: FollowInboxOptions): AsyncGenerator<Message> {
  const path = inboxOf(directory)
  const lines = new Lines()
  let position = 0
  for await (const _ of glances(placeIn(directory, 'logs'), options)) {
    for (;;) {
      const part = await readPart(path, position)
      if (part.length === 0) break
      position += part.length
      for (const line of lines.push(part)) {
        const message = parseMessage(line)
        if (message === undefined) continue
        yield message
        if (options.signal.aborted) return
      }
    }
  }
}

async function readPart(path: string, position: number): Promise<Buffer> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const part = Buffer.allocUnsafe(partBytes)
      const { bytesRead } = await file.read(part, 0, partBytes, position)
      return part.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    // Before the first message there is no file.
    if (isErrno(error, 'ENOENT')) return Buffer.alloc(0)
    throw asStorageError(error, 'read the messages to the run')
  }
}

/** Whole lines out of parts. Of a line that is longer than any message only its being too long is kept. */
class Lines {
  #partial: Buffer = Buffer.alloc(0)

  push(part: Buffer): readonly string[] {
    const bytes = Buffer.concat([this.#partial, part])
    const lines: string[] = []
    let from = 0
    for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, from)) {
      if (at - from <= maxLineBytes) lines.push(bytes.toString('utf8', from, at))
      from = at + 1
    }
    this.#partial = Buffer.from(bytes.subarray(from, from + maxLineBytes + 1))
    return lines
  }
}

function parseMessage(line: string): Message | undefined {
  try {
    const parsed = messageSchema.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
