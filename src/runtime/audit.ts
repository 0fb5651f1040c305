// The audit log of the state home. Whoever changes something opens it once and wraps the change:
//
//   await using audit = await openAudit(stateHome())
//   await audit.perform({ actor: 'operator', action: 'sandbox.create', subject: id }, () => create(id))
//
// The intent is on disk before the change begins, its outcome before the answer is given. What is quick may begin when its intent
// is written (`beginWritten`) and must then wait for the disk before it answers. AUDIT_UNAVAILABLE and BUSY mean that the change
// must not take place. Loaded on demand: what records nothing pays nothing.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import type { AuditLog, AuditLogOptions } from '../audit/log.ts'
import type { AuditRecord } from '../audit/record.ts'
import type { VerifyOptions, VerifyReport } from '../audit/verify.ts'
import { stateHome } from './state.ts'

export type { AuditLog, Intent, WrittenIntent } from '../audit/log.ts'
export type { AuditEntry, AuditData } from '../audit/entry.ts'
export type { AuditHead } from '../audit/heads.ts'
export type { AuditRecord, VerifyOptions, VerifyReport }

export type OpenAuditOptions = Omit<AuditLogOptions, 'directory' | 'keyDirectory'>

export async function openAudit(home: HostPath, options: OpenAuditOptions = {}): Promise<AuditLog> {
  const { openAuditLog } = await import('../audit/log.ts')
  return openAuditLog({ ...options, directory: auditDirectory(home), keyDirectory: join(home, 'keys') as HostPath })
}

export const auditDirectory = (home: HostPath): HostPath => join(home, 'audit') as HostPath

/** A copied log, a state home that holds one, or without a word this operator's own. */
export function findAuditLog(directory?: string): HostPath {
  const places = directory === undefined ? [auditDirectory(stateHome())] : [directory, join(directory, 'audit')]
  const found = places.find((place) => isLog(place))
  if (found !== undefined) return found as HostPath
  throw new GloveboxError('NOT_FOUND', 'Cannot read the audit log: there is none', {
    hint: 'Nothing has been recorded yet, or the log lies elsewhere: name its directory.',
    operatorDetail: places.join('\n'),
  })
}

const isLog = (place: string): boolean =>
  ['segment-000001.jsonl', 'heads.jsonl', 'public-key.pem'].some((name) => existsSync(join(place, name)))

export async function verifyAuditLog(
  directory: HostPath,
  options: VerifyOptions = {},
): Promise<VerifyReport & { readonly exit: number; readonly means: string }> {
  const { verifyAudit } = await import('../audit/verify.ts')
  const { verdictTable } = await import('../audit/verify/verdicts.ts')
  const report = verifyAudit(directory, options)
  return { ...report, ...verdictTable[report.verdict] }
}

/** With `follow` it goes on, as records come, until the signal. */
export async function* readAuditLog(
  directory: HostPath,
  options: { readonly follow?: AbortSignal } = {},
): AsyncGenerator<AuditRecord> {
  const { readRecords } = await import('../audit/read.ts')
  yield* readRecords(directory, options)
}
