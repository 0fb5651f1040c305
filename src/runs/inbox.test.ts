import { appendFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf, groundForEach } from './ground.test-support.ts'
import { followInbox, leaveMessage, maxAnswerBytes, type Message } from './inbox.ts'
import type { Run } from './run.ts'

const ground = groundForEach()
const inboxOf = (run: Run): string => join(run.directory, 'logs', 'inbox.jsonl')
const answer = (text: string) => ({ kind: 'answer', question: 'q_1', text }) as const

/** The first messages, as many as are asked for. */
async function take(run: Run, count: number, everyMs = 20): Promise<readonly Message[]> {
  const stop = new AbortController()
  const taken: Message[] = []
  for await (const message of followInbox(run.directory, { signal: stop.signal, everyMs })) {
    taken.push(message)
    if (taken.length === count) stop.abort()
  }
  return taken
}

const textsOf = (messages: readonly Message[]): readonly string[] =>
  messages.map((message) => (message.kind === 'answer' ? message.text : message.kind))

describe('the inbox of a run', () => {
  it('gives messages in the order in which they came, those before the reader and those after', async () => {
    const run = await ground().create()
    const left = await leaveMessage(run.directory, answer('one\ntwo ☂'))
    expect(left).toMatchObject({ kind: 'answer', question: 'q_1', text: 'one\ntwo ☂' })
    expect(left.id).toMatch(/^msg_[0-9a-f]{32}$/)
    const reading = take(run, 2)
    await leaveMessage(run.directory, { kind: 'cancel' })
    expect(await reading).toEqual([left, expect.objectContaining({ kind: 'cancel' })])
    expect(readFileSync(inboxOf(run), 'utf8').split('\n')).toHaveLength(3)
  })

  it('passes over half a line, and what is written behind it is still read', async () => {
    const run = await ground().create()
    await leaveMessage(run.directory, answer('first'))
    appendFileSync(inboxOf(run), '{"id":"msg_0')
    await leaveMessage(run.directory, answer('second'))
    appendFileSync(inboxOf(run), 'no JSON\n{"kind":"cancel"}\n\n')
    await leaveMessage(run.directory, answer('third'))
    expect(textsOf(await take(run, 3))).toEqual(['first', 'second', 'third'])
  })

  it('waits for the rest of a line that comes in two parts', async () => {
    const run = await ground().create()
    await leaveMessage(run.directory, answer('whole'))
    const line = readFileSync(inboxOf(run))
    writeFileSync(inboxOf(run), line.subarray(0, 30))
    const reading = take(run, 1)
    await new Promise((resolve) => setTimeout(resolve, 60))
    appendFileSync(inboxOf(run), line.subarray(30))
    expect(textsOf(await reading)).toEqual(['whole'])
  })

  it('loses no message of writers that write at the same time', async () => {
    const run = await ground().create()
    const texts = Array.from({ length: 50 }, (_, index) => `text ${index}`)
    await Promise.all(texts.map((text) => leaveMessage(run.directory, answer(text))))
    expect(textsOf(await take(run, 50)).toSorted()).toEqual(texts.toSorted())
  })

  it('takes the longest answer, and refuses a longer one, an empty one and a question with an odd name', async () => {
    const run = await ground().create()
    const longest = '\u0001'.repeat(maxAnswerBytes)
    await leaveMessage(run.directory, answer(longest))
    expect(await codeOf(() => leaveMessage(run.directory, answer(`${longest}x`)))).toBe('INVALID_INPUT')
    expect(await codeOf(() => leaveMessage(run.directory, answer('')))).toBe('INVALID_INPUT')
    expect(await codeOf(() => leaveMessage(run.directory, { ...answer('x'), question: '../x' }))).toBe('INVALID_INPUT')
    expect(textsOf(await take(run, 1))).toEqual([longest])
  })

  it('is bounded: a run that does not read does not fill the disk', async () => {
    const run = await ground().create()
    writeFileSync(inboxOf(run), '\n'.repeat(4 * 1024 * 1024))
    expect(await codeOf(() => leaveMessage(run.directory, { kind: 'cancel' }))).toBe('TOO_LARGE')
    expect(readFileSync(inboxOf(run)).length).toBe(4 * 1024 * 1024)
  })

  it('refuses a message to a run that has ended, and to what is no run', async () => {
    const run = await ground().create()
    await run.transition('cancelled')
    expect(await codeOf(() => leaveMessage(run.directory, { kind: 'cancel' }))).toBe('RUN_ENDED')
    expect(existsSync(inboxOf(run))).toBe(false)
    expect(await codeOf(() => leaveMessage(ground().directory, { kind: 'cancel' }))).toBe('NOT_FOUND')
  })

  it('does not follow a link in place of the inbox', async () => {
    const run = await ground().create()
    const elsewhere = join(ground().directory, 'elsewhere')
    writeFileSync(elsewhere, '')
    symlinkSync(elsewhere, inboxOf(run))
    expect(await codeOf(() => leaveMessage(run.directory, { kind: 'cancel' }))).not.toBe('nothing was thrown')
    expect(readFileSync(elsewhere, 'utf8')).toBe('')
  })

  it('ends without a word when it is told to', async () => {
    const run = await ground().create()
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 30)
    const taken: Message[] = []
    for await (const message of followInbox(run.directory, { signal: stop.signal })) taken.push(message)
    expect(taken).toEqual([])
  })

  it('hears of a message by the kernel, long before the slow clock strikes', async () => {
    const run = await ground().create()
    const began = performance.now()
    const reading = take(run, 1, 8000)
    setTimeout(() => void leaveMessage(run.directory, { kind: 'cancel' }), 30)
    expect(await reading).toHaveLength(1)
    expect(performance.now() - began).toBeLessThan(4000)
  })
})
