// Whether anything of an exec can have run. The mark says that nothing has; it is made before the exec's boundary has a name in the
// store, and whoever takes it away decides: the server that begins the command, or another one that found the exec and lets nobody
// begin it any more. Taking it is one step of the file system, so only one of them has it, however long the other stood still.
import { readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { thisHolder } from '../paths/holder.ts'
import { namesIfThere } from '../paths/if-there.ts'
import { isErrno } from '../paths/refusal.ts'
import { execPlace, type ExecName } from './layout.ts'

/** Under the boundary's own name: whoever was given the exec meanwhile makes another mark, which is none of ours to take. */
const placeOf = (root: string, name: ExecName, boundaryId: string): string =>
  join(execPlace(root, name), `.starting-${boundaryId}`)
/** By the one that found the exec. */
const takenPlace = (root: string, name: ExecName, boundaryId: string): string =>
  join(execPlace(root, name), `.unbegun-${boundaryId}`)

/** It is not synced: behind a power cut it may be there although it was taken away, and says nothing. */
const words = (): string => `${thisHolder().bootId}\n`

export const markStarting = (root: string, name: ExecName, boundaryId: string): void =>
  writeFileSync(placeOf(root, name, boundaryId), words(), { mode: 0o600 })

/** False: somebody else has it, and nothing may run here. */
export const beginning = (root: string, name: ExecName, boundaryId: string): boolean =>
  taken(() => unlinkSync(placeOf(root, name, boundaryId)))

/** That nothing has run under this name, nor will. Whoever comes next is told the same, until it is forgotten. */
export function neverBegins(root: string, name: ExecName, boundaryId: string): boolean {
  const [place, found] = [placeOf(root, name, boundaryId), takenPlace(root, name, boundaryId)]
  if (readMark(found) === words()) return true
  if (readMark(place) !== words()) return false
  return taken(() => renameSync(place, found))
}

/** It has another name from now on, or none. */
export const forgetUnbegun = (root: string, name: ExecName, boundaryId: string): void =>
  rmSync(takenPlace(root, name, boundaryId), { force: true })

/** Of one that has ended nobody asks any more, and whoever stood still finds that it has not the mark. */
export function forgetStarting(root: string, name: ExecName): void {
  const place = execPlace(root, name)
  for (const each of namesIfThere(place))
    if (/^\.(?:starting|unbegun)-/.test(each)) rmSync(join(place, each), { force: true })
}

function readMark(place: string): string | undefined {
  try {
    return readFileSync(place, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

function taken(take: () => void): boolean {
  try {
    take()
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
