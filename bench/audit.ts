// The audit log: how fast it is verified, and what an append costs beyond the sync that no durable record can do without.
import { closeSync, fdatasync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { AuditPlace } from '../src/audit/files.ts'
import { openAuditLog, type AuditLog } from '../src/audit/log.ts'
import { verifyAudit } from '../src/audit/verify.ts'
import type { HostPath } from '../src/contract/mount.ts'
import { interleave, round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'

const megabyte = 1_000_000
const records = 80_000
const sync = promisify(fdatasync)

const entry = (number: number) => ({
  actor: 'operator',
  action: 'exec.start',
  subject: `exec_${number}`,
  data: { argv: ['python3', 'job.py'], backend: 'bwrap', exit: 0, ms: number },
})

export async function auditBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const log = { directory: join(place.path, 'audit') as HostPath, keyDirectory: join(place.path, 'keys') as HostPath }
  const audit = await openAuditLog(log)
  const startedAt = performance.now()
  for (let done = 0; done < records; done += 1000) await appendAtOnce(audit, 1000)
  const perSecond = records / ((performance.now() - startedAt) / 1000)
  const append = await appendBench(audit, join(place.path, 'raw'))
  await audit.close()
  const quick = await quickBench(log, join(place.path, 'raw'))
  return [await verifyBench(log.directory, perSecond), append, quick]
}

const appendAtOnce = (audit: AuditLog, count: number): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, (_, number) => audit.append(entry(number))))

async function appendBench(audit: AuditLog, path: string): Promise<Result> {
  const raw = openSync(path, 'w')
  const bytes = Buffer.alloc(450, 'x')
  const times = await interleave(
    {
      ours: async () => void (await audit.append(entry(1))),
      raw: async () => {
        writeSync(raw, bytes)
        await sync(raw)
      },
    },
    200,
    10,
  )
  closeSync(raw)
  return atMost({
    name: 'audit append − write and fdatasync',
    promise: '≤ 1 ms',
    measured: round(times.ours.medianMs - times.raw.medianMs),
    limit: 1,
    unit: 'ms',
    figures: times,
  })
}

/** What a request waits for in all: its intent written and on disk, its outcome behind the answer, again and again as a server does. */
async function quickBench(log: AuditPlace, path: string): Promise<Result> {
  await using audit = await openAuditLog({ ...log, lingerMs: 5 })
  const raw = openSync(path, 'w')
  const bytes = Buffer.alloc(450, 'x')
  const ends: Promise<unknown>[] = []
  const times = await interleave(
    {
      ours: async () => {
        const intent = await audit.beginWritten(entry(1))
        await intent.onDisk()
        ends.push(intent.done({}, { isPatient: true }))
      },
      raw: async () => {
        writeSync(raw, bytes)
        await sync(raw)
      },
    },
    200,
    10,
  )
  await Promise.all(ends)
  closeSync(raw)
  return atMost({
    name: 'audit of a quick change − write and fdatasync',
    promise: '≤ 1 ms',
    measured: round(times.ours.medianMs - times.raw.medianMs),
    limit: 1,
    unit: 'ms',
    figures: times,
  })
}

async function verifyBench(directory: string, appendsPerSecond: number): Promise<Result> {
  let report = verifyAudit(directory)
  const { ours } = await interleave({ ours: async () => void (report = verifyAudit(directory)) }, 5, 1)
  if (report.verdict !== 'ok') throw new Error(`the log is ${report.verdict}`)
  const { bytes } = report.checked
  return atMost({
    name: 'audit verify, per MB',
    promise: '≤ 20 ms, which is 50 MB/s',
    measured: round(ours.medianMs / (bytes / megabyte)),
    limit: 20,
    unit: 'ms',
    figures: {
      ...report.checked,
      medianMs: ours.medianMs,
      megabytesPerSecond: round(bytes / megabyte / (ours.medianMs / 1000)),
      appendsPerSecond: round(appendsPerSecond),
    },
  })
}
