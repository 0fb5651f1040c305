// Files that may not be there. Most of what is asked for about a new sandbox is not, and an error costs ten times what a look does; so a
// look comes first. Whatever else keeps a file from being read is no absence, and is thrown.
import { openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isErrno } from './refusal.ts'

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Undefined: there is none. */
export const readIfThere = (path: string): string | undefined =>
  unlessGone(() => (isThere(path) ? readFileSync(path, 'utf8') : undefined))

/** A descriptor. Undefined: there is none. */
export const openIfThere = (path: string, flags: string | number): number | undefined =>
  unlessGone(() => (isThere(path) ? openSync(path, flags) : undefined))

/** The names in a directory; none where there is no directory. A file in its place is thrown: somebody has put it there. */
export function namesIfThere(directory: string): readonly string[] {
  try {
    return isThere(directory) ? readdirSync(directory) : []
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

/** Somebody may have taken it away since the look; and what lies below a file is told by an error in any case. */
function unlessGone<Value>(work: () => Value | undefined): Value | undefined {
  try {
    return work()
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
