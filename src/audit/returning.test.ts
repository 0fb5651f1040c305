import { appendFileSync, chmodSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditLog } from './log.ts'
import { entry, linesIn, temporaryLog, type TemporaryLog } from './temporary-log.test-support.ts'
import { verifyAudit } from './verify.ts'

let log: TemporaryLog
let audit: AuditLog
beforeEach(async () => {
  log = temporaryLog()
  audit = await log.open({ headEvery: { records: 4, ms: 60_000 } })
  for (let number = 0; number < 6; number += 1) await audit.append(entry(number))
  // Its turn is over, and the clock by which a file tells that it was changed has moved on.
  await delay(50)
})
afterEach(() => log.remove())

const segment = (): string => join(log.directory, 'segment-000001.jsonl')
const heads = (): string => join(log.directory, 'heads.jsonl')
const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

function changeByte(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] as number) ^ 1
  // In place: whoever wrote it has not made it longer, and it is the same file.
  writeFileSync(path, bytes, { flag: 'r+' })
}

describe('a writer that comes back to its log', () => {
  it('sees a single changed byte in any record, signed or not, and does not forget it', async () => {
    const [first = 0, second = 0, ...others] = linesIn(readFileSync(segment())).map(({ length }) => length)
    const last = [first, second, ...others].reduce((sum, length) => sum + length, 0) - (others.at(-1) ?? 0)
    for (const at of [10, first + 20, first + second - 10, last + 20]) {
      const sound = readFileSync(segment())
      changeByte(segment(), at)
      expect([at, await code(audit.append(entry(7))), await code(audit.append(entry(8)))]).toEqual([
        at,
        'AUDIT_UNAVAILABLE',
        'AUDIT_UNAVAILABLE',
      ])
      writeFileSync(segment(), sound, { flag: 'r+' })
    }
    // The control: what was put right can be gone on from.
    expect(await code(audit.append(entry(9)))).toBe('done')
    await audit.close()
    expect(verifyAudit(log.directory).verdict).toBe('ok')
  })

  it('sees a single changed byte in the last head', async () => {
    changeByte(heads(), readFileSync(heads()).length - 20)
    expect(await code(audit.append(entry(7)))).toBe('AUDIT_UNAVAILABLE')
  })

  it('sees a changed byte though somebody has put the time back', async () => {
    const { atime, mtime } = statSync(segment())
    changeByte(segment(), 20)
    utimesSync(segment(), atime, mtime)
    expect(await code(audit.append(entry(7)))).toBe('AUDIT_UNAVAILABLE')
  })

  it('goes on from what others added, from a torn end that was cut off again, and from new rights of a file', async () => {
    const other = await log.open()
    await other.append(entry(10))
    expect((await audit.append(entry(11))).seq).toBe(9)
    const { length } = readFileSync(segment())
    appendFileSync(segment(), '{"seq":')
    truncateSync(segment(), length)
    expect((await other.append(entry(12))).seq).toBe(10)
    chmodSync(segment(), 0o640)
    expect((await audit.append(entry(13))).seq).toBe(11)
    await other.close()
    await audit.close()
    expect(verifyAudit(log.directory).verdict).toBe('ok')
  })
})
