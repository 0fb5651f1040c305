import { z } from 'zod'
import type { ActionContext } from '../contract/action.ts'
import { defineAction } from './define.ts'
import { directoryField } from './schemas.ts'
import { searchDiagnostics } from './search/diagnostics.ts'
import { matchingDirectories, type FoundPaths } from './search/directories.ts'
import { firstPaths, inOrder } from './search/first-paths.ts'
import { globArgument, ignoreArguments, isDirectlyInside } from './search/globs.ts'
import { ignoredFor } from './search/ignored.ts'
import { fixedArguments, refuseFailed, runSearch } from './search/program.ts'
import { absolutePath, searchRoot, type SearchRoot } from './search/root.ts'

const inputSchema = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1024)
    .describe(
      'Relative to path. * and ? stay within a name, ** goes through directories: **/*.ts, src/**, {a,b}/*.md.',
    ),
  path: directoryField.describe('A directory, or a file to be matched by its name.'),
  includeDirs: z.boolean().default(false),
  maxResults: z.int().positive().max(1000).default(200),
  includeIgnored: z.boolean().default(false).describe('Also look into .git, node_modules and the like.'),
})

/** In order, the program walks on one core; without order, everything must be seen before the first can be told. */
const maxUnordered = 100_000

type Input = z.infer<typeof inputSchema>

export const globEntries = defineAction({
  name: 'glob_entries',
  summary: 'Find files (and directories, if asked for) whose path fits a pattern.',
  input: inputSchema,
  output: z.strictObject({ path: z.string(), paths: z.array(z.string()), truncated: z.boolean() }),
  effect: 'read',
  async perform(context, input, signal) {
    const root = await searchRoot(context, input.path)
    const glob = globArgument(input.pattern)
    const files = await matchingFiles(context, { input, root, glob, signal })
    const wantsDirectories = input.includeDirs && root.file === undefined
    if (!wantsDirectories) return { path: root.path, paths: [...files.paths], truncated: files.truncated }
    const directories = await matchingDirectories(context, { root, glob, ...input, signal })
    const paths = inOrder([...files.paths, ...directories.paths])
    return {
      path: root.path,
      paths: paths.slice(0, input.maxResults),
      truncated: files.truncated || directories.truncated || paths.length > input.maxResults,
    }
  },
})

interface FilesRequest {
  readonly input: Input
  readonly root: SearchRoot
  readonly glob: string
  readonly signal: AbortSignal | undefined
}

/** All files at once, each core taking a part, and the first of them kept; where there are very many, in order up to the last that is wanted. */
async function matchingFiles(context: ActionContext, request: FilesRequest): Promise<FoundPaths> {
  const unordered = firstPaths(request.input.maxResults)
  const end = await listFiles(context, request, { order: [], take: (path) => unordered.take(path) < maxUnordered })
  if (!end.stopped) return { paths: unordered.paths(), truncated: unordered.isCut }
  const ordered: string[] = []
  const { stopped } = await listFiles(context, request, {
    order: ['--sort=path'],
    take: (path) => ordered.length < request.input.maxResults && ordered.push(path) > 0,
  })
  return { paths: ordered, truncated: stopped }
}

interface Listing {
  readonly order: readonly string[]
  /** Returns false when enough has been seen. */
  take(path: string): boolean
}

async function listFiles(context: ActionContext, { input, root, glob, signal }: FilesRequest, listing: Listing) {
  const diagnostics = searchDiagnostics()
  const end = await runSearch(context, {
    root,
    arguments: globArguments(input, root, glob, listing.order),
    output: { separator: 0, maxBytes: 8192 },
    take(record) {
      const path = absolutePath(root.directory, record.toString('utf8'))
      return root.file !== undefined && path !== root.path ? true : listing.take(path)
    },
    stderrLine: (line) => diagnostics.push(line),
    signal,
  })
  if (diagnostics.complaint !== undefined) refuseFailed(end, root, diagnostics.complaint)
  return end
}

const globArguments = (input: Input, root: SearchRoot, glob: string, order: readonly string[]): readonly string[] => [
  ...fixedArguments,
  '--files',
  '--null',
  ...order,
  ...(isDirectlyInside(glob) || root.file !== undefined ? ['--max-depth=1'] : []),
  `--glob=${glob}`,
  ...ignoreArguments(ignoredFor({ includeIgnored: input.includeIgnored, pattern: glob })),
  '--',
  '.',
]
