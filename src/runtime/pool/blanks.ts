// Files that a claim will need, made with the spare: without content, in its directory and out of every guest's sight. Where much was
// deleted lately ext4 searches long for a place for a new file, and a claim needs several; so it fills and renames these.
import { closeSync, constants, linkSync, openSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../paths/refusal.ts'

const blanks = { record: '.blank-record', opening: '.blank-opening' } as const
/** A link to the directory that it lies in: of which the member's place becomes another name. */
const self = '.self'

export const blankIn = (directory: string, what: keyof typeof blanks): string => join(directory, blanks[what])

export function makeBlanks(directory: string): void {
  for (const name of Object.values(blanks)) writeFileSync(join(directory, name), '', { mode: 0o600, flag: 'wx' })
  symlinkSync(directory, join(directory, self))
}

/** False: there is no such blank, or none any more. The caller renames it. */
export function fillBlank(path: string, text: string): boolean {
  try {
    // Without a look before: it is there as good as always.
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW)
    try {
      writeFileSync(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}

/** A link at `place` to the directory. Throws EEXIST if something is there. */
export function linkTo(directory: string, place: string): void {
  try {
    // link(2) does not follow: this is another name of the link itself.
    linkSync(join(directory, self), place)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw error
    // None was made, or this file system gives a link one name only.
    symlinkSync(directory, place)
  }
}
