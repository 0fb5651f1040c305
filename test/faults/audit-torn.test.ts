// The last record of an audit log that was being written when everything stopped: what is left of it is kept aside, and the log goes on.
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readRecords } from '../../src/audit/read.ts'
import type { AuditRecord } from '../../src/audit/record.ts'
import {
  entry,
  linesIn,
  segmentNames,
  temporaryLog,
  type TemporaryLog,
} from '../../src/audit/temporary-log.test-support.ts'
import { verifyAudit } from '../../src/audit/verify.ts'

let log: TemporaryLog
beforeEach(() => {
  log = temporaryLog()
})
afterEach(() => log.remove())

const lastSegment = (): string => join(log.directory, segmentNames(log.files()).at(-1)!)

describe('a torn end', () => {
  const tear = async (spoil: (path: string, whole: Buffer) => number): Promise<void> => {
    const audit = await log.open({ headEvery: { records: 1000, ms: 60_000 } })
    for (let number = 0; number < 3; number += 1) await audit.append(entry(number))
    const path = lastSegment()
    const whole = readFileSync(path)
    const kept = spoil(path, whole)
    const again = await log.open()
    await again.append(entry(9))
    await again.close()
    const all: AuditRecord[] = []
    for await (const record of readRecords(log.directory)) all.push(record)
    expect(all.slice(0, kept).map(({ seq }) => seq)).toEqual(Array.from({ length: kept }, (_, index) => index + 1))
    expect(all.at(-1)).toMatchObject({ subject: 'exec_9' })
    expect(verifyAudit(log.directory).verdict).toBe('ok')
    const repairs = all.filter(({ action }) => action === 'audit.repair')
    for (const { data } of repairs) {
      const torn = readFileSync(join(log.directory, 'torn', data['kept'] as string))
      expect(torn.length).toBe(data['bytes'])
      expect(createHash('sha256').update(torn).digest('hex')).toBe(data['sha256'])
    }
    expect(repairs).toHaveLength(1)
  }

  it('is kept aside, recorded and gone on from, wherever the last record was cut, filled with zeros or with garbage', async () => {
    const sample = temporaryLog()
    const audit = await sample.open()
    await audit.append(entry(2))
    await audit.close()
    const length = linesIn(sample.files().get('segment-000001.jsonl')!).at(-1)!.length
    sample.remove()
    for (const fill of [0, 0x20, undefined]) {
      // Every length that can be left of it, and samples of what a file system may have put in its place.
      for (let cut = 1; cut < length; cut += fill === undefined ? 1 : 13) {
        log.remove()
        log = temporaryLog()
        await tear((path, whole) => {
          truncateSync(path, whole.length - cut)
          if (fill !== undefined) appendFileSync(path, Buffer.alloc(cut, fill))
          return 3
        })
      }
    }
  }, 60_000)
})
