// Whether anything of an exec can have run. The mark says that nothing has; it is made before the exec's boundary has a name in the
// store, and whoever takes it away decides: the server that begins the command, or another one that found the exec and lets nobody
// begin it any more. Taking it is one step of the file system, so only one of them has it, however long the other stood still.
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { thisHolder } from '../paths/holder.ts'
import { isErrno } from '../paths/refusal.ts'
import { execPlace, type ExecName } from './layout.ts'

/** Under the boundary's own name: whoever was given the exec meanwhile makes another mark, which is none of ours to take. */
const placeOf = (root: string, name: ExecName, boundaryId: string): string =>
  join(execPlace(root, name), `.starting-${boundaryId}`)

/** It is not synced: behind a power cut it may be there although it was taken away, and says nothing. */
const words = (): string => `${thisHolder().bootId}\n`

export const markStarting = (root: string, name: ExecName, boundaryId: string): void =>
  writeFileSync(placeOf(root, name, boundaryId), words(), { mode: 0o600 })

/** False: somebody else has it, and nothing may run here. */
export const beginning = (root: string, name: ExecName, boundaryId: string): boolean =>
  take(placeOf(root, name, boundaryId))

/** That nothing has run under this name, nor will. */
export function neverBegins(root: string, name: ExecName, boundaryId: string): boolean {
  const place = placeOf(root, name, boundaryId)
  try {
    if (readFileSync(place, 'utf8') !== words()) return false
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
  return take(place)
}

function take(place: string): boolean {
  try {
    unlinkSync(place)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
