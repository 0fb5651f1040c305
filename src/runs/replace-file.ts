// Atomic replacement: a temporary name in the same directory, fsync, rename, fsync of the directory. A reader sees the
// old bytes or the new; a crash leaves the old ones and at most a temporary that the next open sweeps away.
import { randomBytes } from 'node:crypto'
import { closeSync, fchmodSync, openSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { syncFile, writeAll } from '../paths/content.ts'
import { isErrno } from '../paths/refusal.ts'
import { noFailpoint, type Failpoint } from './failpoints.ts'

const temporaryName = /^\.[a-z-]+\.[a-z]+\.[0-9a-f]{24}\.tmp$/

export interface ReplaceOptions {
  /** Default 0o644. */
  readonly mode?: number
  readonly failpoint?: Failpoint
}

export async function replaceFile(
  path: string,
  bytes: string | Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  const failpoint = options.failpoint ?? noFailpoint
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(12).toString('hex')}.tmp`)
  await writeNew(temporary, bytes, options.mode ?? 0o644)
  try {
    failpoint('run.persist.beforeRename')
    renameSync(temporary, path)
  } catch (error) {
    discard(temporary)
    throw error
  }
  failpoint('run.persist.afterRename')
  await syncDirectory(dirname(path))
}

/** A file that must not be there yet, written and synced. Nothing stays behind when it fails. */
export async function writeNew(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  const fd = openSync(path, 'wx', 0o600)
  try {
    await writeAll(fd, typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
    // The umask must not decide what a record's permissions are.
    fchmodSync(fd, mode)
    await syncFile(fd)
  } catch (error) {
    discard(path)
    throw error
  } finally {
    closeSync(fd)
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    await syncFile(fd)
  } finally {
    closeSync(fd)
  }
}

/** Only names of our own pattern go: anything else in the directory is somebody's. */
export function sweepTemporaries(directory: string): readonly string[] {
  const stale = readdirSync(directory).filter((name) => temporaryName.test(name))
  for (const name of stale) discard(join(directory, name))
  return stale
}

function discard(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
