// Space that is kept back while a run lives, so that its end can be written down on a disk that is full by then.
import { randomBytes } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../paths/refusal.ts'
import { writeNew } from './replace-file.ts'

/** Room for the terminal event (at most 16 KiB), run.json, and a manifest that says that it could not be made. */
export const reserveBytes = 64 * 1024
const reserveName = 'reserve'

/** Bytes of chance: a filesystem that compresses would keep nothing back for zeros. */
export const makeReserve = (logs: string): Promise<void> =>
  writeNew(join(logs, reserveName), randomBytes(reserveBytes), 0o600)

/** Gives the space to whoever writes next. May be called twice. */
export function releaseReserve(logs: string): void {
  try {
    unlinkSync(join(logs, reserveName))
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
