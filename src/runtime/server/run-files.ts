// The files of a run, for the faces that may not look into its room themselves.
import type { ArtifactManifest } from '../../contract/artifact.ts'
import type { RunEvent } from '../../contract/event.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openArtifact, type ArtifactFile } from '../../runs/artifact-file.ts'
import { artifactManifest } from '../../runs/artifacts.ts'
import { followEvents } from '../../runs/follow-events.ts'
import { placeIn } from '../../runs/layout.ts'
import { readEvents } from '../../runs/reader.ts'
import { readArtifactManifest } from '../runs/artifact-manifest.ts'
import { lookAtRun } from '../runs/look.ts'

export { recordedArtifact } from '../runs/artifact-manifest.ts'

const maxNameBytes = 255

export function openRunFile(directory: string, path: string): ArtifactFile {
  // No filesystem has such a name, and the kernel's word for it is no answer to a caller.
  if (path.split('/').some((name) => Buffer.byteLength(name) > maxNameBytes))
    throw new GloveboxError('INVALID_PATH', 'Cannot read the file: a name in its path has more than 255 bytes')
  return openArtifact(directory, path)
}

export const followRunEvents = (
  directory: string,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<RunEvent> => followEvents(directory, { afterSeq: after, signal })

export async function readRunEvents(
  directory: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<{ readonly items: readonly RunEvent[]; readonly next_after: number | null }> {
  const items: RunEvent[] = []
  for await (const event of readEvents(directory, { afterSeq: after })) {
    if (items.length === limit) return { items, next_after: items.at(-1)?.seq ?? after }
    items.push(event)
  }
  return { items, next_after: null }
}

export interface RunArtifacts {
  readonly manifest: ArtifactManifest
  /** False: nobody recorded it yet, and these are the files as they are now. */
  readonly isRecorded: boolean
}

export async function readRunArtifacts(directory: string): Promise<RunArtifacts> {
  const recorded = await readArtifactManifest(directory)
  if (recorded !== undefined) return { manifest: recorded, isRecorded: true }
  const manifest = await artifactManifest({
    workspace: placeIn(directory, 'workspace'),
    deliverables: placeIn(directory, 'deliverables'),
    runId: (await lookAtRun(directory)).record?.run_id ?? '',
  })
  return { manifest, isRecorded: false }
}
