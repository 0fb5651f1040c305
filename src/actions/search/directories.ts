// Directories that fit a glob. The search program lists files only, so the directories are walked here and their
// paths are handed to it as text, to be matched by a regular expression made from the glob. That way the
// matching stays linear and inside the guest, as for files.
import type { ActionContext } from '../../contract/action.ts'
import { walk } from '../walk.ts'
import { globToRegex } from './glob-regex.ts'
import { isDirectlyInside } from './globs.ts'
import { ignoredFor } from './ignored.ts'
import { runSearch } from './program.ts'
import { absolutePath, type SearchRoot } from './root.ts'

const maxVisited = 200_000
const maxDepth = 64
const newline = 0x0a

/** A name may hold a line break, which anchors would take for the end of a line; it never holds NUL. */
const asLine = (path: string): string => path.replaceAll('\n', '\0')

export interface DirectoriesRequest {
  readonly root: SearchRoot
  readonly glob: string
  readonly includeIgnored: boolean
  readonly maxResults: number
  readonly signal: AbortSignal | undefined
}

export interface FoundPaths {
  readonly paths: readonly string[]
  readonly truncated: boolean
}

export async function matchingDirectories(context: ActionContext, request: DirectoriesRequest): Promise<FoundPaths> {
  const { root, glob, maxResults, signal } = request
  const closed = new Set(ignoredFor({ includeIgnored: request.includeIgnored, pattern: glob }))
  const depth = isDirectlyInside(glob) ? 1 : maxDepth
  const relative: string[] = []
  const walked = await walk(
    context.boundary.files,
    root.path,
    { maxDepth: depth, maxVisited, closed, signal },
    (entry) => {
      const shown = entry.kind === 'directory' && !closed.has(entry.name)
      if (shown) relative.push(entry.path.slice(root.path === '/' ? 1 : root.path.length + 1))
      return true
    },
  )
  if (relative.length === 0) return { paths: [], truncated: walked.truncated }
  const paths: string[] = []
  const end = await runSearch(context, {
    root,
    arguments: [
      '--no-config',
      '--text',
      '--no-filename',
      '--no-line-number',
      '--color=never',
      '-e',
      globToRegex(glob),
      '-',
    ],
    output: { separator: newline, maxBytes: 8192 },
    stdin: relative.map(asLine).join('\n'),
    take(record) {
      if (paths.length === maxResults) return false
      paths.push(absolutePath(root.directory, record.toString('utf8').replaceAll('\0', '\n')))
      return true
    },
    signal,
  })
  return { paths, truncated: walked.truncated || end.stopped }
}
