// `glovebox audit verify | show | head`: the log of what was done, for whoever has to believe it.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import { findAuditLog, readAuditLog, verifyAuditLog, type AuditRecord, type VerifyReport } from '../../runtime/audit.ts'
import { jsonLine, printable, table } from '../output.ts'
import type { Doing } from '../program.ts'
import { watchInterrupts } from '../signals.ts'

export interface AuditFlags {
  readonly json?: boolean
  readonly debug?: boolean
  readonly key?: string
  readonly expect?: { readonly seq: number; readonly hash: string }
  readonly last?: number
  readonly follow?: boolean
}

type Verb = (directory: string | undefined, flags: AuditFlags, doing: Doing) => Promise<number>

const locate = (directory: string | undefined, doing: Doing) =>
  findAuditLog(directory === undefined ? undefined : resolve(doing.directory, directory))

const verify: Verb = async (directory, flags, doing) => {
  const { exit, means, ...report } = await verifyAuditLog(locate(directory, doing), {
    ...(flags.key === undefined ? {} : { key: readKey(resolve(doing.directory, flags.key)) }),
    ...(flags.expect === undefined ? {} : { expect: flags.expect }),
  })
  await doing.face.out.write(flags.json === true ? jsonLine({ ...report, exit, means }) : asText(report, means))
  return exit
}

function asText(report: VerifyReport, means: string): string {
  const { records, segments, heads, bytes } = report.checked
  const rows = [
    ['verdict', report.verdict],
    ['', means],
    ...report.findings.map((finding) => ['finding', `${finding.verdict}: ${finding.what}${placeOf(finding)}`]),
    ['checked', `${records} records in ${segments} segments, ${heads} heads, ${bytes} bytes`],
    ['signed', `up to record ${report.signedThrough} of ${report.last.seq}`],
    ['intents', `${report.openIntents} open, ${report.unknownOutcomes} ended as unknown`],
    ['key', report.key ?? 'none'],
  ]
  return `${table(rows.map((row) => row.map(printable))).join('\n')}\n`
}

function placeOf({ file, line, offset, seq }: VerifyReport['findings'][number]): string {
  const parts = [
    ...(file === undefined ? [] : [file]),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(offset === undefined ? [] : [`byte ${offset}`]),
    ...(seq === undefined ? [] : [`record ${seq}`]),
  ]
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const show: Verb = async (directory, flags, doing) => {
  const place = locate(directory, doing)
  const { out } = doing.face
  const render = (record: AuditRecord): string => (flags.json === true ? jsonLine(record) : asLine(record))
  const interrupts = flags.follow === true ? watchInterrupts() : undefined
  // The newest are known only at the end, so the log is read twice.
  const upTo = flags.last === undefined ? 0 : await lastSeq(place)
  try {
    for await (const record of readAuditLog(place, interrupts === undefined ? {} : { follow: interrupts.signal })) {
      if (flags.last !== undefined && record.seq <= upTo - flags.last) continue
      await out.write(render(record))
      if (!out.open) break
    }
  } finally {
    interrupts?.stop()
  }
  return 0
}

async function lastSeq(place: ReturnType<typeof findAuditLog>): Promise<number> {
  let seq = 0
  for await (const record of readAuditLog(place)) seq = record.seq
  return seq
}

function asLine({ seq, time, outcome, actor, action, subject, intent, data }: AuditRecord): string {
  const of = intent === null ? '' : ` of ${intent}`
  const more = Object.keys(data).length === 0 ? '' : ` ${JSON.stringify(data)}`
  return `${printable(`${seq} ${time} ${outcome}${of} ${actor} ${action} ${subject}${more}`)}\n`
}

const head: Verb = async (directory, flags, doing) => {
  const { verdict, signedThrough: seq, key, exit, findings, ...rest } = await verifyAuditLog(locate(directory, doing))
  // A head of a log that does not hold together is nothing to keep.
  if (exit !== 0 && verdict !== 'unsigned-tail' && verdict !== 'torn-tail')
    throw new GloveboxError('RECORD_DAMAGED', `Cannot print the head of the audit log: it is ${verdict}`, {
      hint: 'Run: glovebox audit verify',
      operatorDetail: findings.map(({ what }) => what).join('\n'),
    })
  const hash = rest.signedHash
  await doing.face.out.write(flags.json === true ? jsonLine({ seq, hash, key }) : `${seq}:${hash}\n`)
  return 0
}

function readKey(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new GloveboxError('NOT_FOUND', 'Cannot verify: the key file cannot be read', {
      hint: 'Give the public key in PEM form: --key FILE',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

export const audit = { verify, show, head } as const
