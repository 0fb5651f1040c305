// Making a directory, with its parents unless the caller says otherwise. One that exists is no error.
import { closeSync } from 'node:fs'
import { isWaypoint, walk, type Arrival } from './contain.ts'
import { makeDirectories } from './directories.ts'
import { permitMkdir } from './permit.ts'
import { refusal, type Question } from './refusal.ts'
import type { WritableReach } from './target.ts'

export async function makeDirectory(
  reach: WritableReach,
  asked: Question,
  options: { readonly parents?: boolean },
): Promise<{ readonly created: boolean }> {
  const place = walk(reach, { ...asked, followLeaf: true })
  if (isWaypoint(place)) return { created: false }
  try {
    return await makeAtPlace(reach, place, asked, options)
  } finally {
    place.close()
  }
}

async function makeAtPlace(
  reach: WritableReach,
  place: Arrival,
  asked: Question,
  options: { readonly parents?: boolean },
): Promise<{ readonly created: boolean }> {
  if (place.leaf?.stats.isDirectory()) return { created: false }
  permitMkdir(reach, place, asked)
  if (place.leaf !== undefined) throw refusal('ALREADY_EXISTS', asked, 'something else is already there')
  if (place.parent === undefined) return { created: false }
  if (place.names.length > 1 && options.parents === false) {
    throw refusal('NOT_FOUND', asked, 'the directory for it does not exist')
  }
  const { owner } = reach.root(place.mount)
  const { directory, created } = await makeDirectories(place.parent, place.names, { owner, asked })
  closeSync(directory.fd)
  return { created }
}
