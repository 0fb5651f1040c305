// What a crash may leave in a run directory, and how it is put right: a torn tail is kept aside and cut off, and
// temporaries go. Nothing else is ever changed. Each step may itself be cut off by another crash.
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { syncFile } from '../paths/content.ts'
import type { Failpoint } from './failpoints.ts'
import { placeIn } from './layout.ts'
import { syncDirectory } from './replace-file.ts'
import type { Scan } from './scan.ts'

const tornPrefix = 'events.torn-'
const partBytes = 1024 * 1024

export interface Repair {
  /** Where the trustworthy part ends, and so where the log goes on. */
  readonly offset: number
  readonly bytes: number
  /** Files beside the log that hold what was cut off. */
  readonly keptAs: readonly string[]
}

export interface RecoverOptions {
  readonly directory: string
  readonly scan: Scan
  /** Torn tails of which the log already speaks. */
  readonly mentioned: ReadonlySet<string>
  readonly failpoint: Failpoint
  readonly now: () => number
}

/** Undefined when there was nothing to repair, and nothing that an earlier repair left unsaid. */
export async function repairTail(options: RecoverOptions): Promise<Repair | undefined> {
  const { directory, scan } = options
  const bytes = scan.rest === 'torn' ? scan.totalBytes - scan.goodBytes : 0
  if (bytes > 0) await cutOff(options)
  const keptAs = readdirSync(directory).filter((name) => name.startsWith(tornPrefix) && !options.mentioned.has(name))
  return bytes === 0 && keptAs.length === 0 ? undefined : { offset: scan.goodBytes, bytes, keptAs: keptAs.toSorted() }
}

async function cutOff({ directory, scan, failpoint, now }: RecoverOptions): Promise<void> {
  const fd = openSync(placeIn(directory, 'events.jsonl'), 'r+')
  try {
    copySpan(fd, scan.goodBytes, freeName(directory, now()))
    await syncDirectory(directory)
    failpoint('run.recover.beforeTruncate')
    ftruncateSync(fd, scan.goodBytes)
    await syncFile(fd)
    failpoint('run.recover.afterTruncate')
  } finally {
    closeSync(fd)
  }
}

function freeName(directory: string, now: number): string {
  const taken = new Set(readdirSync(directory))
  const stamp = new Date(now).toISOString().replaceAll(/[-:]/g, '')
  for (let count = 0; ; count++) {
    const name = `${tornPrefix}${stamp}${count === 0 ? '' : `-${count}`}`
    if (!taken.has(name)) return join(directory, name)
  }
}

function copySpan(fd: number, from: number, path: string): void {
  const part = Buffer.allocUnsafe(partBytes)
  const copy = openSync(path, 'wx', 0o444)
  try {
    for (let at = from; ;) {
      const count = readSync(fd, part, 0, partBytes, at)
      if (count === 0) break
      writeFileSync(copy, part.subarray(0, count))
      at += count
    }
    fsyncSync(copy)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(copy)
  }
}
