// Makes what the archive holds outlive a power cut, and vouches for it: the state before the first action, of which an
// event tells the hash, and the contents that change sets say were kept. Contents are synced once, before a run's end is
// recorded, and not while actions are answered.
import { readdirSync, type Dirent } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventInput } from '../contract/event.ts'
import { isErrno } from '../paths/refusal.ts'
import { sha256 } from './fingerprint.ts'
import { placeIn } from './layout.ts'
import { asStorageError } from './storage-error.ts'

/** As many as there are threads for it: commits of the journal are shared by all that wait. */
const atOnce = 4

export async function syncArchive(directory: string): Promise<void> {
  try {
    const archive = placeIn(directory, 'archive')
    await syncFilesIn(join(archive, 'blobs'))
    await syncFilesIn(archive)
  } catch (error) {
    throw asStorageError(error, 'make the archive of the run durable')
  }
}

/** The event for a state before the first action that has just been written. */
export async function startRecorded(directory: string): Promise<EventInput> {
  const path = join(placeIn(directory, 'archive'), 'base.json')
  try {
    await sync(path)
    await sync(placeIn(directory, 'archive'))
    const files = { 'archive/base.json': sha256(await readFile(path)) }
    return { type: 'start_recorded', summary: 'The files before the first action were written down.', data: { files } }
  } catch (error) {
    throw asStorageError(error, 'make the archive of the run durable')
  }
}

function entriesOf(place: string): readonly Dirent[] {
  try {
    return readdirSync(place, { withFileTypes: true })
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

async function syncFilesIn(place: string): Promise<void> {
  const entries = entriesOf(place)
  if (entries.length === 0) return
  const paths = entries.filter((entry) => entry.isFile()).map(({ name }) => join(place, name))
  const lane = async (): Promise<void> => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) await sync(path)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  await sync(place)
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
