// One file below workspace/ or deliverables/, by its name. The guest owned both trees and may have left links and pipes in
// them, so the way there is walked by descriptor and what is opened is what was examined.
import { closeSync, constants } from 'node:fs'
import { GloveboxError } from '../errors/error.ts'
import { pieces } from '../paths/content.ts'
import { reopen, statsOf, type Opened } from '../paths/descriptor.ts'
import { openView, type DirectoryView, type Found } from './fork/merged-view.ts'
import { layersUnder } from './fork/record.ts'
import { placeIn } from './layout.ts'
import { asStorageError } from './storage-error.ts'

export interface ArtifactFile {
  /** Relative to the run directory, as the manifest spells it. */
  readonly path: string
  readonly size: number
  /** For whoever reads it in his own way. `close` closes it. */
  readonly fd: number
  bytes(): AsyncIterable<Uint8Array>
  close(): void
}

/** `deliverables/a.md`, and the guest's spelling `/deliverables/a.md`. */
export function openArtifact(directory: string, asked: string): ArtifactFile {
  const [root, ...names] = asked.replace(/^\//, '').split('/')
  const isPlain = names.length > 0 && names.every((name) => name !== '' && name !== '.' && name !== '..')
  if ((root !== 'workspace' && root !== 'deliverables') || !isPlain || asked.includes('\0')) throw elsewhere(asked)
  const fd = openFile([placeIn(directory, root), ...(root === 'workspace' ? layersUnder(directory) : [])], names, asked)
  const path = [root, ...names].join('/')
  return { path, size: Number(statsOf(fd).size), fd, bytes: () => pieces(fd), close: () => closeSync(fd) }
}

function openFile(layers: readonly string[], names: readonly string[], asked: string): number {
  const views: DirectoryView[] = []
  const found: Found[] = []
  try {
    for (let view = openView(layers); ; view = step(view, found.at(-1), asked)) {
      views.push(view)
      const next = view.find(names[found.length] ?? '')
      if (next === undefined) throw refuse('NOT_FOUND', asked, 'nothing is there')
      found.push(next)
      if (found.length === names.length) return openRegular(next, asked)
    }
  } catch (error) {
    throw asStorageError(error, `read ${asked}`)
  } finally {
    for (const view of views.toReversed()) view.close()
    for (const { fd } of found) closeSync(fd)
  }
}

// SECURITY: a link that the guest left would lead the operator's own reading elsewhere.
// src/runs/artifact-file: "a link is not followed, neither at the end nor on the way"
function step(view: DirectoryView, from: Found | undefined, asked: string): DirectoryView {
  if (from?.stats.isSymbolicLink() === true) throw refuse('LINK_REFUSED', asked, 'it leads through a link')
  if (from?.stats.isDirectory() !== true)
    throw refuse('NOT_A_DIRECTORY', asked, 'a part of the path is not a directory')
  return view.enter(from)
}

function openRegular({ fd, stats }: Opened, asked: string): number {
  if (stats.isSymbolicLink()) throw refuse('LINK_REFUSED', asked, 'it is a link')
  if (stats.isDirectory()) throw refuse('IS_A_DIRECTORY', asked, 'it is a directory')
  if (!stats.isFile()) throw refuse('NOT_A_FILE', asked, 'it is not a regular file')
  return reopen(fd, constants.O_RDONLY)
}

const refuse = (
  code: 'LINK_REFUSED' | 'NOT_A_DIRECTORY' | 'NOT_FOUND' | 'IS_A_DIRECTORY' | 'NOT_A_FILE',
  asked: string,
  cause: string,
): GloveboxError => new GloveboxError(code, `Cannot read ${asked}: ${cause}`)

const elsewhere = (asked: string): GloveboxError =>
  new GloveboxError('INVALID_PATH', `Cannot read ${asked}: artifacts lie below workspace/ and deliverables/`, {
    hint: 'Write it as `glovebox runs artifacts` prints it, for example deliverables/report.md.',
  })
