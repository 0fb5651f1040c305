// What happens before a run's end, or its review, is written down: the manifest is made, the required deliverables are
// judged by it, and every file that must not change any more is named with its hash. A run that would be completed
// without what it owes fails instead, and the reason says what is missing.
import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import type { ArtifactManifest, DeliverableProblem } from '../contract/artifact.ts'
import type { EventData } from '../contract/event.ts'
import type { Deliverable, RunStatus } from '../contract/run.ts'
import { emptyManifest } from './artifacts.ts'
import { checkDeliverables } from './deliverables.ts'
import type { Failpoint } from './failpoints.ts'
import { placeIn, type RunFile } from './layout.ts'
import { replaceFile } from './replace-file.ts'
import { asStorageError, isNoSpace } from './storage-error.ts'

/** Written by the run while it lives; their last state is named by the event that ends it. */
const sealedFiles: readonly RunFile[] = [
  'effective-system-prompt.md',
  'sandbox-manifest.json',
  'artifact-manifest.json',
  'transcript.md',
]
const toldProblems = 20

export interface Outcome {
  readonly to: RunStatus
  readonly reason: string | null
  readonly summary: string
  readonly data: EventData
}

export interface SettleOptions {
  readonly directory: string
  readonly runId: string
  readonly deliverables: readonly Deliverable[]
  readonly failpoint: Failpoint
  readonly now: () => number
  survey(): Promise<ArtifactManifest>
  /** Gives up the reserved space. */
  release(): void
}

export async function settle(asked: Outcome, options: SettleOptions): Promise<Outcome> {
  const manifest = await recordManifest(options)
  const judged = judge(asked, manifest, options.deliverables)
  const { entries, files, bytes } = manifest.totals
  const artifacts = { entries, files, bytes, complete: manifest.complete }
  return { ...judged, data: { ...judged.data, artifacts, files: await sealsOf(options.directory) } }
}

async function recordManifest(options: SettleOptions): Promise<ArtifactManifest> {
  const { directory, failpoint } = options
  const write = async (manifest: ArtifactManifest): Promise<ArtifactManifest> => {
    const text = `${JSON.stringify(manifest, null, 1)}\n`
    await replaceFile(placeIn(directory, 'artifact-manifest.json'), text, { failpoint })
    return manifest
  }
  try {
    return await write(await options.survey())
  } catch (error) {
    if (!isNoSpace(error)) throw asStorageError(error, 'write the artifact manifest')
    options.release()
    return write(emptyManifest(options.runId, 'no_space', new Date(options.now()).toISOString()))
  }
}

function judge(asked: Outcome, manifest: ArtifactManifest, required: readonly Deliverable[]): Outcome {
  if (asked.to !== 'completed' && asked.to !== 'review_required') return asked
  if (manifest.stopped.includes('no_space')) {
    return {
      ...asked,
      to: 'failed',
      reason: 'disk_full',
      summary: 'The disk is full: no artifact manifest could be written.',
    }
  }
  const problems = checkDeliverables(required, manifest)
  const [first] = problems
  return first === undefined ? asked : failedBy(first, problems, asked)
}

function failedBy(first: DeliverableProblem, problems: readonly DeliverableProblem[], asked: Outcome): Outcome {
  const told = problems.slice(0, toldProblems).map(({ path, reason }) => ({ path: path.slice(0, 300), reason }))
  const summary = `${problems.length} of the required deliverables do not count; the first is ${first.path.slice(0, 300)} (${first.reason}).`
  return { to: 'failed', reason: first.reason, summary, data: { ...asked.data, deliverable_problems: told } }
}

async function sealsOf(directory: string): Promise<Record<string, string>> {
  const seals: Record<string, string> = {}
  for (const name of sealedFiles) seals[name] = await hashOf(placeIn(directory, name))
  return seals
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
