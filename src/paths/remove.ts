// Removing a name, or a whole tree by descriptor. A link is removed, never followed.
import { rmdirSync, unlinkSync } from 'node:fs'
import { isWaypoint, walk, type Arrival } from './contain.ts'
import { inside, type Opened } from './descriptor.ts'
import { syncDirectory } from './directories.ts'
import { lockKey } from './lock.ts'
import { permitUproot } from './permit.ts'
import { isErrno, refusal, type Question } from './refusal.ts'
import type { WritableReach } from './target.ts'
import { emptyDirectory } from './tree.ts'

export async function removePath(
  reach: WritableReach,
  asked: Question,
  options: { readonly recursive?: boolean },
): Promise<void> {
  const place = walk(reach, { ...asked, followLeaf: false })
  if (isWaypoint(place)) throw refusal('NOT_PERMITTED', asked, 'a mount is below it')
  try {
    permitUproot(reach, place, asked)
    await removePlace(reach, place, asked, options)
  } finally {
    place.close()
  }
}

async function removePlace(
  reach: WritableReach,
  { parent, leaf, names }: Arrival,
  asked: Question,
  options: { readonly recursive?: boolean },
): Promise<void> {
  const name = names[0]
  if (parent === undefined || leaf === undefined || name === undefined) {
    throw refusal('NOT_FOUND', asked, 'nothing is there')
  }
  await reach.locks.hold([lockKey(parent.stats, name)], asked, async () => {
    if (!leaf.stats.isDirectory()) unlinkSync(inside(parent.fd, name))
    else {
      if (options.recursive) await emptyDirectory(leaf, { held: reach.held, asked })
      removeDirectory(parent, name, asked)
    }
    await syncDirectory(parent)
  })
}

function removeDirectory(parent: Opened, name: string, asked: Question): void {
  try {
    rmdirSync(inside(parent.fd, name))
  } catch (error) {
    if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error
    throw refusal('NOT_EMPTY', asked, 'the directory is not empty', { hint: 'Remove it with recursive: true.' })
  }
}
