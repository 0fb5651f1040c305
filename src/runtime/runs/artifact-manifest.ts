// artifact-manifest.json for whoever serves others too. A guest may have left 100,000 names, and to read their list at once would hold the
// event loop for some hundred milliseconds: so it is read, and searched for one file, in pieces.
import { closeSync, openSync } from 'node:fs'
import { z } from 'zod'
import {
  artifactManifestSchema,
  artifactSchema,
  type Artifact,
  type ArtifactManifest,
} from '../../contract/artifact.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openIfThere } from '../../paths/if-there.ts'
import { readLongList, searchLongList, type LongListForm } from '../../paths/long-list.ts'
import { placeIn } from '../../runs/layout.ts'
import { asStorageError } from '../../runs/storage-error.ts'

const entriesSchema = z.array(artifactSchema)

const form: LongListForm<ArtifactManifest, Artifact> = {
  // As src/runs/ending writes it.
  indent: 1,
  field: 'entries',
  about: (value) => artifactManifestSchema.safeParse(value).data,
  items: (value) => entriesSchema.safeParse(value).data,
}

/** Undefined: nobody recorded it yet, or what was recorded is missing or damaged. */
export async function readArtifactManifest(directory: string): Promise<ArtifactManifest | undefined> {
  const fd = openIfThere(placeIn(directory, 'artifact-manifest.json'), 'r')
  const read = fd === undefined ? undefined : await reading(fd, () => readLongList(fd, form))
  return read === undefined || read.about.recorded_at === null ? undefined : { ...read.about, entries: [...read.items] }
}

/**
 * What was recorded of one file. Null: the record leaves nothing out, and has no such file. Undefined: nobody recorded it yet, or the record
 * left it out. Of a record that cannot be read nobody knows what it says of a file, so it is refused.
 */
export async function recordedArtifact(directory: string, path: string): Promise<Artifact | null | undefined> {
  const said = await searched(directory, path)
  if (said === undefined)
    throw new GloveboxError('RECORD_DAMAGED', 'Cannot read the file: the record of the files of the run is damaged', {
      hint: '`glovebox runs verify` tells more.',
      operatorDetail: placeIn(directory, 'artifact-manifest.json'),
    })
  const { about, item } = said
  if (about.recorded_at === null) return undefined
  return item ?? (about.complete ? null : undefined)
}

async function searched(
  directory: string,
  path: string,
): ReturnType<typeof searchLongList<ArtifactManifest, Artifact>> {
  let fd: number
  try {
    fd = openSync(placeIn(directory, 'artifact-manifest.json'), 'r')
  } catch (error) {
    throw asStorageError(error, 'read the file')
  }
  return await reading(fd, () => searchLongList(fd, form, { path, path_base64: null }))
}

async function reading<Value>(fd: number, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } finally {
    closeSync(fd)
  }
}
