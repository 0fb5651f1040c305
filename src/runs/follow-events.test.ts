import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../contract/event.ts'
import { followEvents } from './follow-events.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'

const ground = groundForEach()
const forever = (): AbortSignal => new AbortController().signal
const everyMs = 20

async function follow(
  directory: string,
  options: { afterSeq?: number; signal?: AbortSignal } = {},
): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of followEvents(directory, { signal: forever(), everyMs, ...options })) events.push(event)
  return events
}

const seqs = (events: readonly RunEvent[]): readonly number[] => events.map(({ seq }) => seq)

describe('followEvents', () => {
  it('gives what is there, then what comes, and ends with the run', async () => {
    const run = await ground().create()
    await run.transition('running')
    const following = follow(run.directory)
    await run.append({ type: 'thought', summary: 'Hm.' }, { durability: 'D2' })
    await run.transition('failed', { reason: 'exit_nonzero' })
    const events = await following
    expect(events.map(({ type }) => type)).toEqual(['run_created', 'state_changed', 'thought', 'run_ended'])
  })

  it('begins behind the event that it is told', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.transition('completed')
    expect(seqs(await follow(run.directory, { afterSeq: 2 }))).toEqual([3])
    expect(seqs(await follow(run.directory, { afterSeq: 9 }))).toEqual([])
  })

  it('ends when the process at work is gone, and gives all that it wrote', async () => {
    const run = await ground().create()
    await run.transition('running')
    expect(seqs(await follow(ground().crashedCopy(run)))).toEqual([1, 2])
  })

  it('goes on while a run waits for review, which no process does', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.transition('review_required')
    await run.close()
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 150)
    const began = performance.now()
    expect(seqs(await follow(run.directory, { signal: stop.signal }))).toEqual([1, 2, 3])
    expect(performance.now() - began).toBeGreaterThan(100)
  })

  it('waits for the rest of a line, also when the log is cut back to its last whole one first', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.transition('completed')
    await run.close()
    const live = await ground().create()
    const log = join(live.directory, 'events.jsonl')
    const lines = readFileSync(join(run.directory, 'events.jsonl'))
    const second = lines.indexOf(10) + 1
    const third = lines.indexOf(10, second) + 1
    const ends = new AbortController()
    writeFileSync(log, lines.subarray(0, second))
    const following = followEvents(live.directory, { signal: ends.signal, everyMs })
    expect((await following.next()).value).toMatchObject({ seq: 1 })
    appendFileSync(log, lines.subarray(second, second + 40))
    const coming = following.next()
    await new Promise((resolve) => setTimeout(resolve, 5))
    truncateSync(log, second)
    appendFileSync(log, lines.subarray(second, third))
    expect((await coming).value).toMatchObject({ seq: 2 })
    ends.abort()
    await following.return(undefined)
  })

  it('stops at a line that was changed, and says so', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.transition('completed')
    const copy = ground().crashedCopy(run)
    const log = join(copy, 'events.jsonl')
    writeFileSync(log, readFileSync(log, 'utf8').replace('"to":"running"', '"to":"Running"'))
    expect(await codeOf(() => follow(copy))).toBe('RECORD_DAMAGED')
    expect(await codeOf(() => follow(ground().directory))).toBe('NOT_FOUND')
  })
})
