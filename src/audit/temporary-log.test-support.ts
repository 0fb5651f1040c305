// Logs for tests: really written, then held in memory, so that thousands of spoilt copies can be verified quickly.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { openAuditLog, type AuditLog, type AuditLogOptions } from './log.ts'
import type { AuditPlace } from './files.ts'
import type { LogSource } from './verify/source.ts'
import { verifySource, type VerifyReport } from './verify.ts'

export interface TemporaryLog extends AuditPlace {
  open(options?: Partial<AuditLogOptions>): Promise<AuditLog>
  /** Every file that a copy of the directory would hold. */
  files(): Files
  remove(): void
}

export type Files = ReadonlyMap<string, Buffer>

export function temporaryLog(): TemporaryLog {
  const root = mkdtempSync(join(tmpdir(), 'glovebox-audit-'))
  const directory = join(root, 'audit') as HostPath
  const keyDirectory = join(root, 'keys') as HostPath
  return {
    directory,
    keyDirectory,
    open: (options = {}) => openAuditLog({ directory, keyDirectory, ...options }),
    files() {
      const names = readdirSync(directory).filter((name) => statSync(join(directory, name)).isFile())
      return new Map(names.map((name) => [name, readFileSync(join(directory, name))]))
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

export const memorySource = (files: Files): LogSource => ({
  names: () => [...files.keys()],
  read: (name) => files.get(name),
  chunks: (name) => [files.get(name) ?? Buffer.alloc(0)],
})

export const withFile = (files: Files, name: string, bytes: Buffer): Files => new Map([...files, [name, bytes]])

export const segmentNames = (files: Files): readonly string[] =>
  [...files.keys()].filter((name) => name.startsWith('segment-')).toSorted()

/** With their line breaks. */
export function linesIn(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end + 1))
    start = end + 1
  }
  return start === bytes.length ? lines : [...lines, bytes.subarray(start)]
}

export const entry = (number: number) => ({
  actor: 'operator',
  action: 'exec.start',
  subject: `exec_${number}`,
  data: { number, words: ['Jürgen', 'a*b'] },
})

export const verify = (files: Files): VerifyReport => verifySource(memorySource(files))
export const withLines = (files: Files, name: string, lines: readonly Buffer[]): Files =>
  withFile(files, name, Buffer.concat(lines))

export async function writtenLog(records: number, maxSegmentBytes: number, headEvery: number): Promise<Files> {
  const log = temporaryLog()
  try {
    const audit = await log.open({ maxSegmentBytes, headEvery: { records: headEvery, ms: 60_000 } })
    for (let number = 0; number < records; number += 1) await audit.append(entry(number))
    await audit.close()
    return log.files()
  } finally {
    log.remove()
  }
}

/** As a killed writer leaves it: the last head and what it signed are gone from heads, not from the log. */
export const withoutLastHead = (files: Files): Files =>
  withLines(files, 'heads.jsonl', linesIn(files.get('heads.jsonl') ?? Buffer.alloc(0)).slice(0, -1))
