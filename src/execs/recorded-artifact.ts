// What manifest.json says of one file. A guest may have left 100,000: to read the list whole would hold the event loop for half a
// second, in which nobody else is served, and for each file that somebody fetches. So it is searched in pieces, in the form in which
// it was written. Only a short one in another form is read whole. Where it does not tell, the file is refused.
import type { ExecArtifact } from '../contract/exec-record.ts'
import { GloveboxError } from '../errors/error.ts'
import { recordPlace, type ExecName } from './layout.ts'
import { searchManifest } from './manifest-file.ts'

/**
 * Null: it leaves nothing out, and has no such file.
 * SECURITY: a file that nothing can be compared with might be anybody's by now: it is refused, and never served as it is.
 * test/e2e/server-downloads: "a file whose manifest cannot be read, or tells no hash of it, is refused and not served"
 */
export async function recordedArtifact(root: string, name: ExecName, path: string): Promise<ExecArtifact | null> {
  const said = await searchManifest(root, name, path)
  if (said === undefined) throw damaged(recordPlace(root, name, 'manifest.json'))
  const { entry, complete } = said
  if (entry === undefined && complete) return null
  if (entry === undefined || (entry.kind === 'file' && entry.sha256 === null)) throw unrecorded(path)
  return entry
}

const damaged = (place: string): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', 'Cannot read the file: the record of the files of the exec is damaged', {
    hint: 'Its manifest.json is missing, or is not as it was written, so that nobody can tell what the command left. Run the exec again.',
    operatorDetail: place,
  })

const unrecorded = (path: string): GloveboxError =>
  new GloveboxError('ARTIFACT_CHANGED', `Cannot read ${path}: it was not recorded at the end of its exec`, {
    hint: 'The manifest of the exec is not complete and has no hash of it, so that nobody can tell whether it is as the command left it. Run the exec again.',
  })
