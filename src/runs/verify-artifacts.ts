// Compares the files of a run with what its artifact manifest says. Works on a copy and needs nothing but the directory.
// No link is followed: an entry counts only if every directory above it was itself found to be one.
import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Artifact, ArtifactManifest } from '../contract/artifact.ts'
import { hashRegular, readingBuffer } from './verify-files.ts'
import { placesIn, type Places } from './verify-layers.ts'
import type { Finding } from './verify-log.ts'

const toldAdditions = 100
const entriesPerTurn = 256

export interface ArtifactsChecked {
  readonly findings: readonly Finding[]
  readonly artifacts: number
  readonly bytes: number
}

export async function checkArtifacts(directory: string, manifest: ArtifactManifest): Promise<ArtifactsChecked> {
  const places = placesIn(directory)
  if ('finding' in places) return { findings: [places.finding], artifacts: 0, bytes: 0 }
  const findings: Finding[] = []
  const find = (path: string, detail: string): void => void findings.push({ kind: 'artifact', subject: path, detail })
  const real = new Set(['workspace', 'deliverables'].filter((name) => isDirectory(join(directory, name))))
  const buffer = readingBuffer()
  let bytes = 0
  for (const [index, entry] of manifest.entries.entries()) {
    if (index % entriesPerTurn === 0) await turn()
    const place = placeOf(entry)
    const difference = real.has(parentOf(place)) ? await differs(places, place, entry, buffer) : 'its directory is gone'
    if (difference !== undefined) find(entry.path, difference)
    else if (entry.kind === 'directory') real.add(place)
    bytes += entry.sha256 === null ? 0 : (entry.size ?? 0)
  }
  if (manifest.complete)
    for (const path of additions(places, manifest, real)) find(path, 'it was added after the manifest was made')
  return { findings, artifacts: manifest.entries.length, bytes }
}

const isDirectory = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** One character for each byte, so that a name that is no UTF-8 stays what it is. */
const placeOf = (entry: Artifact): string =>
  (entry.path_base64 === null ? Buffer.from(entry.path) : Buffer.from(entry.path_base64, 'base64')).toString('latin1')

const parentOf = (place: string): string => place.slice(0, Math.max(0, place.lastIndexOf('/')))

async function differs(places: Places, place: string, entry: Artifact, buffer: Buffer): Promise<string | undefined> {
  if (place.split('/').some((name) => name === '' || name === '.' || name === '..'))
    return 'its path leads out of the run'
  const path = places.pathOf(place)
  const stats = path && lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined || path === undefined) return 'it is missing'
  if (kindOf(stats) !== entry.kind) return `it is no ${entry.kind} any more`
  if (entry.kind === 'symlink') return readlinkSync(path) === entry.target ? undefined : 'it points elsewhere'
  if (entry.kind !== 'file' || entry.sha256 === null) return undefined
  if (stats.size !== entry.size) return 'its size has changed'
  const found = await hashRegular(path, buffer)
  if (found === undefined) return 'it is no file any more'
  return found.sha256 === entry.sha256 ? undefined : 'its content has changed'
}

function kindOf(stats: Stats): Artifact['kind'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

function additions(places: Places, manifest: ArtifactManifest, real: ReadonlySet<string>): readonly string[] {
  const known = new Set(manifest.entries.map((entry) => placeOf(entry)))
  const added: string[] = []
  for (const place of real) {
    for (const name of places.namesIn(place)) {
      const inner = `${place}/${name}`
      if (!known.has(inner)) added.push(Buffer.from(inner, 'latin1').toString('utf8'))
      if (added.length >= toldAdditions) return added
    }
  }
  return added
}
