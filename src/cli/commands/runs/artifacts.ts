// `glovebox runs artifacts`: which files came out of a run, and their bytes. Bytes are reached by descriptor, and compared
// with the hash that was recorded.
import { createHash } from 'node:crypto'
import { artifactManifestSchema, type Artifact, type ArtifactManifest } from '../../../contract/artifact.ts'
import { openArtifact } from '../../../runs/artifact-file.ts'
import { artifactManifest } from '../../../runs/artifacts.ts'
import { layersOrGone } from '../../../runs/fork/record.ts'
import { placeIn } from '../../../runs/layout.ts'
import { readDetails } from '../../../runtime/runs/details.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatBytes } from '../../units.ts'
import type { RunsFlags } from './told.ts'

export interface ArtifactsFlags extends RunsFlags {
  readonly get?: string
  readonly deliverables?: boolean
}

interface Listing {
  readonly manifest: ArtifactManifest
  /** Nobody recorded it: the files as they lie there now. */
  readonly isNow: boolean
}

export async function runsArtifacts(directory: string, flags: ArtifactsFlags, doing: Doing): Promise<number> {
  if (flags.get !== undefined) return get(directory, flags.get, doing)
  const { manifest, isNow } = await listingOf(directory)
  const entries = manifest.entries.filter(({ role }) => flags.deliverables !== true || role === 'deliverable')
  const { out, err } = doing.face
  if (flags.json === true) await out.write(jsonLine({ ...manifest, entries, recorded: !isNow }))
  else await out.write(artifactTable(entries))
  if (isNow) await err.write('glovebox: The run has not ended: these are its files as they are now.\n')
  if (!manifest.complete) await err.write(`glovebox: The list is not complete: ${manifest.stopped.join(', ')}.\n`)
  return 0
}

async function listingOf(directory: string): Promise<Listing> {
  const { artifacts, record } = await readDetails(directory, 0)
  if (artifacts !== null) return { manifest: artifactManifestSchema.parse(artifacts), isNow: false }
  const manifest = await artifactManifest({
    workspace: placeIn(directory, 'workspace'),
    deliverables: placeIn(directory, 'deliverables'),
    under: layersOrGone(directory),
    runId: record?.run_id ?? '',
  })
  return { manifest, isNow: true }
}

const hashShown = 16

export function artifactTable(entries: readonly Artifact[]): string {
  if (entries.length === 0) return ''
  const rows = entries.map((entry) => [
    nameOf(entry),
    entry.role,
    entry.kind,
    entry.size === null ? '-' : formatBytes(entry.size),
    entry.sha256?.slice(0, hashShown) ?? entry.skipped ?? '-',
  ])
  const lines = table([['PATH', 'ROLE', 'KIND', 'SIZE', 'SHA-256'], ...rows].map((row) => row.map(printable)))
  return `${lines.join('\n')}\n`
}

const nameOf = ({ path, kind, target }: Artifact): string => {
  if (kind === 'directory') return `${path}/`
  return target === null ? path : `${path} -> ${target}`
}

async function get(directory: string, asked: string, { face }: Doing): Promise<number> {
  const { artifacts } = await readDetails(directory, 0)
  const file = openArtifact(directory, asked)
  const hash = createHash('sha256')
  try {
    for await (const piece of file.bytes()) {
      hash.update(piece)
      await face.out.write(piece)
      if (!face.out.open) return 0
    }
  } finally {
    file.close()
  }
  const recorded = artifacts?.entries.find(({ path }) => path === file.path)?.sha256 ?? null
  if (recorded === null || recorded === hash.digest('hex')) return 0
  await face.err.write(`glovebox: ${printable(file.path)} is not what it was when it was recorded.\n`)
  return 1
}
