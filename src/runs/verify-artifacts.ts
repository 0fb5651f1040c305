// Compares the files of a run with what its artifact manifest says. Works on a copy and needs nothing but the directory.
// No link is followed: an entry counts only if every directory above it was itself found to be one.
import { createHash } from 'node:crypto'
import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Artifact, ArtifactManifest } from '../contract/artifact.ts'
import type { Finding } from './verify-log.ts'

const toldAdditions = 100

export interface ArtifactsChecked {
  readonly findings: readonly Finding[]
  readonly artifacts: number
  readonly bytes: number
}

export async function checkArtifacts(directory: string, manifest: ArtifactManifest): Promise<ArtifactsChecked> {
  const findings: Finding[] = []
  const find = (path: string, detail: string): void => void findings.push({ kind: 'artifact', subject: path, detail })
  const real = new Set(['workspace', 'deliverables'].filter((name) => isDirectory(join(directory, name))))
  let bytes = 0
  for (const entry of manifest.entries) {
    const place = placeOf(entry)
    const difference = real.has(parentOf(place)) ? await differs(directory, place, entry) : 'its directory is gone'
    if (difference !== undefined) find(entry.path, difference)
    else if (entry.kind === 'directory') real.add(place)
    bytes += entry.sha256 === null ? 0 : (entry.size ?? 0)
  }
  if (manifest.complete)
    for (const path of additions(directory, manifest, real)) find(path, 'it was added after the manifest was made')
  return { findings, artifacts: manifest.entries.length, bytes }
}

const isDirectory = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** One character for each byte, so that a name that is no UTF-8 stays what it is. */
const placeOf = (entry: Artifact): string =>
  (entry.path_base64 === null ? Buffer.from(entry.path) : Buffer.from(entry.path_base64, 'base64')).toString('latin1')

const onDisk = (directory: string, place: string): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(place, 'latin1')])

const parentOf = (place: string): string => place.slice(0, Math.max(0, place.lastIndexOf('/')))

async function differs(directory: string, place: string, entry: Artifact): Promise<string | undefined> {
  if (place.split('/').some((name) => name === '' || name === '.' || name === '..'))
    return 'its path leads out of the run'
  const path = onDisk(directory, place)
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return 'it is missing'
  if (kindOf(stats) !== entry.kind) return `it is no ${entry.kind} any more`
  if (entry.kind === 'symlink') return readlinkSync(path) === entry.target ? undefined : 'it points elsewhere'
  if (entry.kind !== 'file' || entry.sha256 === null) return undefined
  if (stats.size !== entry.size) return 'its size has changed'
  return (await hashOf(path)) === entry.sha256 ? undefined : 'its content has changed'
}

function kindOf(stats: Stats): Artifact['kind'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

export async function hashOf(path: string | Buffer): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash)
  return hash.digest('hex')
}

function additions(directory: string, manifest: ArtifactManifest, real: ReadonlySet<string>): readonly string[] {
  const known = new Set(manifest.entries.map((entry) => placeOf(entry)))
  const added: string[] = []
  for (const place of real) {
    for (const name of readdirSync(onDisk(directory, place), { encoding: 'buffer' })) {
      const inner = `${place}/${name.toString('latin1')}`
      if (!known.has(inner)) added.push(Buffer.from(inner, 'latin1').toString('utf8'))
      if (added.length >= toldAdditions) return added
    }
  }
  return added
}
