import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GloveboxError } from '../errors/error.ts'
import { readRecords } from './read.ts'
import type { AuditRecord } from './record.ts'
import { entry, linesIn, segmentNames, temporaryLog, type TemporaryLog } from './temporary-log.test-support.ts'
import { verifyAudit } from './verify.ts'

let log: TemporaryLog
beforeEach(() => {
  log = temporaryLog()
})
afterEach(() => log.remove())

const records = async (): Promise<readonly AuditRecord[]> => {
  const all: AuditRecord[] = []
  for await (const record of readRecords(log.directory)) all.push(record)
  return all
}
const lastSegment = (): string => join(log.directory, segmentNames(log.files()).at(-1)!)
const unavailable = expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }) as Error

describe('the audit log', () => {
  it('keeps everything that is appended at once, in order, under few syncs', async () => {
    await using audit = await log.open()
    const written = await Promise.all(Array.from({ length: 300 }, (_, number) => audit.append(entry(number))))
    expect(written.map(({ seq }) => seq)).toEqual(Array.from({ length: 300 }, (_, number) => number + 2))
    expect(written.map(({ subject }) => subject)).toEqual(written.map((_, number) => `exec_${number}`))
    // Each batch tells what was on disk when it was written.
    expect(new Set(written.map(({ durable }) => durable)).size).toBeLessThan(6)
  })

  it('goes on in a new segment before one grows beyond its size', async () => {
    const audit = await log.open({ maxSegmentBytes: 5000 })
    await Promise.all(Array.from({ length: 100 }, (_, number) => audit.append(entry(number))))
    await audit.close()
    const sizes = segmentNames(log.files()).map((name) => statSync(join(log.directory, name)).size)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5000)
    const report = verifyAudit(log.directory)
    expect(report).toMatchObject({ verdict: 'ok', checked: { segments: sizes.length } })
    expect(sizes.length).toBeGreaterThan(5)
  })

  it('has room for the intent of whoever has none open, however many others have', async () => {
    const audit = await log.open()
    const opened = async (actor: string, count: number): Promise<number> => {
      const asked = Array.from({ length: count }, (_, number) => audit.begin({ ...entry(number), actor }))
      const answers = await Promise.allSettled(asked)
      for (const each of answers) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'BUSY' })
      return answers.filter(({ status }) => status === 'fulfilled').length
    }
    expect(await opened('token:a', 1100)).toBe(500)
    for (const [actor, most] of [
      ['token:b', 250],
      ['token:c', 125],
    ] as const)
      expect(await opened(actor, 600)).toBe(most)
    expect(await opened('token:d', 1)).toBe(1)
    // Whoever else has it open counts those of the log, and what has ended no longer.
    const other = await log.open()
    await expect(other.begin({ ...entry(1), actor: 'token:a' })).rejects.toMatchObject({ code: 'BUSY' })
    const one = await other.begin({ ...entry(1), actor: 'token:e' })
    await one.done()
    expect(await opened('token:d', 200)).toBe(62)
    for (const each of [other, audit]) await each.close()
  })

  it('writes the intent before the effect and the outcome after it', async () => {
    const audit = await log.open()
    const during = await audit.perform(entry(1), async () => (await records()).at(-1))
    expect(during).toMatchObject({ outcome: 'intent', subject: 'exec_1' })
    const fault = new GloveboxError('NO_SPACE', 'Cannot write: no space')
    await expect(audit.perform(entry(2), () => Promise.reject(fault))).rejects.toBe(fault)
    await audit.close()
    const all = await records()
    expect(all.slice(1).map(({ outcome, intent, data }) => [outcome, intent, data['code']])).toEqual([
      ['intent', null, undefined],
      ['done', 2, undefined],
      ['intent', null, undefined],
      ['failed', 4, 'NO_SPACE'],
    ])
  })

  it('ends an intent once, and what is still open at its close as unknown', async () => {
    const audit = await log.open()
    const first = await audit.begin(entry(1))
    await first.done()
    await expect(first.failed()).rejects.toThrow(unavailable)
    await audit.begin(entry(2))
    await audit.close()
    await expect(audit.append(entry(3))).rejects.toThrow(unavailable)
    expect((await records()).at(-1)).toMatchObject({ outcome: 'unknown', intent: 4 })
    expect(verifyAudit(log.directory)).toMatchObject({ verdict: 'ok', openIntents: 0, unknownOutcomes: 1 })
  })

  it('waits at its close for an end that nobody has waited for', async () => {
    const audit = await log.open({ lingerMs: 5 })
    const intent = await audit.beginWritten(entry(1))
    await intent.onDisk()
    const ending = intent.done({ made: 'it' }, { isPatient: true })
    await audit.close()
    await ending
    expect((await records()).at(-1)).toMatchObject({ outcome: 'done', intent: 2, data: { made: 'it' } })
    expect(verifyAudit(log.directory)).toMatchObject({ verdict: 'ok', openIntents: 0, unknownOutcomes: 0 })
  })

  it('signs after so many records, after so long, and at its close', async () => {
    const heads = () => linesIn(readFileSync(join(log.directory, 'heads.jsonl'))).length
    const counting = await log.open({ headEvery: { records: 5, ms: 60_000 } })
    expect(heads()).toBe(1)
    for (let number = 0; number < 5; number += 1) await counting.append(entry(number))
    await expect.poll(heads).toBe(2)
    await counting.append(entry(6))
    await counting.close()
    expect(heads()).toBe(3)
    const waiting = await log.open({ headEvery: { records: 1000, ms: 50 } })
    await waiting.append(entry(7))
    await expect.poll(heads).toBe(4)
    await waiting.close()
    expect(verifyAudit(log.directory).verdict).toBe('ok')
  })

  it('is shared by several writers, who take turns', async () => {
    const writers = await Promise.all([log.open(), log.open(), log.open({ maxSegmentBytes: 9000 })])
    await Promise.all(
      writers.flatMap((audit) => Array.from({ length: 40 }, (_, number) => audit.append(entry(number)))),
    )
    await Promise.all(writers.map((audit) => audit.close()))
    expect(verifyAudit(log.directory)).toMatchObject({ verdict: 'ok' })
    expect((await records()).filter(({ action }) => action === 'exec.start')).toHaveLength(120)
  })

  it('refuses with BUSY what waits too long for another writer', async () => {
    const audit = await log.open({ waitMs: 60 })
    const lock = join(log.directory, 'lock')
    const card = readdirSync(lock).find((name) => name.startsWith('holder-'))!
    // The lock of a living holder: this very process.
    writeFileSync(join(lock, 'writer.lock'), readFileSync(join(lock, card)))
    await expect(audit.append(entry(1))).rejects.toMatchObject({ code: 'BUSY' })
    await expect(log.open({ waitMs: 60 })).rejects.toMatchObject({ code: 'BUSY' })
    rmSync(join(lock, 'writer.lock'))
    await audit.append(entry(2))
    await audit.close()
    expect((await records()).map(({ subject }) => subject)).toEqual(['segment 1', 'exec_2'])
  })
})

describe('damage', () => {
  const written = async (): Promise<void> => {
    const audit = await log.open()
    for (let number = 0; number < 3; number += 1) await audit.append(entry(number))
    await audit.close()
  }

  it('of what is signed is refused and never mended', async () => {
    await written()
    const path = lastSegment()
    const whole = readFileSync(path)
    for (const spoilt of [whole.subarray(0, -1), whole.subarray(0, -80), whole.subarray(0, 10), Buffer.alloc(0)]) {
      writeFileSync(path, spoilt)
      await expect(log.open()).rejects.toThrow(unavailable)
      expect(readFileSync(path).equals(spoilt)).toBe(true)
    }
  })

  it('of an answered record is refused, not taken for a torn end, when later records stand behind it', async () => {
    const audit = await log.open({ headEvery: { records: 1000, ms: 60_000 } })
    for (let number = 0; number < 3; number += 1) await audit.append(entry(number))
    const path = lastSegment()
    const lines = linesIn(readFileSync(path))
    writeFileSync(path, Buffer.concat(lines.with(2, Buffer.alloc(lines[2]!.length, 0))))
    await expect(log.open()).rejects.toThrow(unavailable)
  })

  it('of the heads or the key is refused', async () => {
    await written()
    const heads = join(log.directory, 'heads.jsonl')
    const whole = readFileSync(heads)
    writeFileSync(heads, '')
    await expect(log.open()).rejects.toThrow(unavailable)
    writeFileSync(heads, whole)
    rmSync(join(log.keyDirectory, 'audit.pem'))
    await expect(log.open()).rejects.toThrow(unavailable)
  })

  it('below an open log makes it refuse', async () => {
    const audit = await log.open()
    await audit.append(entry(1))
    truncateSync(lastSegment(), 100)
    await expect(audit.append(entry(2))).rejects.toThrow(unavailable)
    await expect(audit.close()).rejects.toThrow(unavailable)
  })
})
