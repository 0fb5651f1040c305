// Renaming within one mount, as rename(2) does it: atomic, a file replaces a file, an empty directory may
// be replaced by a directory, and a link is moved, not followed.
import { renameSync } from 'node:fs'
import type { GuestPath } from '../contract/mount.ts'
import { isWaypoint, walk, type Arrival } from './contain.ts'
import { inside, type Opened } from './descriptor.ts'
import { syncDirectory } from './directories.ts'
import { isWithin } from './guest.ts'
import { lockKey } from './lock.ts'
import { permitUproot } from './permit.ts'
import { refusal, shownPath, type Question } from './refusal.ts'
import type { WritableReach } from './target.ts'

export async function renamePath(reach: WritableReach, asked: Question, to: GuestPath): Promise<void> {
  const askedTo: Question = { verb: 'rename to', path: to }
  const source = arrive(reach, asked)
  try {
    const destination = arrive(reach, askedTo)
    try {
      await move(reach, { source, destination, asked, askedTo })
    } finally {
      destination.close()
    }
  } finally {
    source.close()
  }
}

function arrive(reach: WritableReach, asked: Question): Arrival {
  const place = walk(reach, { ...asked, followLeaf: false })
  if (isWaypoint(place)) throw refusal('NOT_PERMITTED', asked, 'a mount is below it')
  try {
    permitUproot(reach, place, asked)
    return place
  } catch (error) {
    place.close()
    throw error
  }
}

interface Move {
  readonly source: Arrival
  readonly destination: Arrival
  readonly asked: Question
  readonly askedTo: Question
}

async function move(reach: WritableReach, { source, destination, asked, askedTo }: Move): Promise<void> {
  if (source.leaf === undefined) throw refusal('NOT_FOUND', asked, 'nothing is there')
  if (source.mount !== destination.mount) {
    throw refusal('INVALID_INPUT', asked, `${shownPath(askedTo.path)} is in another mount`, {
      hint: 'Copy the file and remove the original.',
    })
  }
  if (source.path !== destination.path && isWithin(destination.path, source.path)) {
    throw refusal('INVALID_INPUT', asked, 'a directory cannot be moved into itself')
  }
  const from = endOf(source, asked)
  const into = endOf(destination, askedTo)
  const keys = [lockKey(from.parent.stats, from.name), lockKey(into.parent.stats, into.name)]
  await reach.locks.hold(keys, asked, async () => {
    renameSync(inside(from.parent.fd, from.name), inside(into.parent.fd, into.name))
    await syncDirectory(into.parent)
    await syncDirectory(from.parent)
  })
}

function endOf(place: Arrival, asked: Question): { readonly parent: Opened; readonly name: string } {
  const [name, ...deeper] = place.names
  if (place.parent === undefined || name === undefined || deeper.length > 0) {
    throw refusal('NOT_FOUND', asked, 'the directory for it does not exist', { hint: 'Make the directory first.' })
  }
  return { parent: place.parent, name }
}
