// Whether files of one directory can be copied into another by sharing their blocks.
import { randomBytes } from 'node:crypto'
import { constants, copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../paths/refusal.ts'

/** Tried with a file of a few bytes, since no file system says so. */
export function canReflink(from: string, into: string): boolean {
  if (statSync(from).dev !== statSync(into).dev) return false
  const name = join(into, `.glovebox-reflink-${randomBytes(12).toString('hex')}`)
  try {
    writeFileSync(name, 'x', { flag: 'wx', mode: 0o600 })
    copyFileSync(name, `${name}.copy`, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    if (isErrno(error, 'EOPNOTSUPP', 'ENOTSUP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY')) return false
    throw error
  } finally {
    rmSync(name, { force: true })
    rmSync(`${name}.copy`, { force: true })
  }
}
