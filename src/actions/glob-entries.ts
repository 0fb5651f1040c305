import { z } from 'zod'
import type { ActionContext } from '../contract/action.ts'
import { defineAction } from './define.ts'
import { directoryField } from './schemas.ts'
import { searchDiagnostics } from './search/diagnostics.ts'
import { matchingDirectories } from './search/directories.ts'
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
    const directories = wantsDirectories
      ? await matchingDirectories(context, { root, glob, ...input, signal })
      : { paths: [], truncated: false }
    const paths = [...files.paths, ...directories.paths].toSorted()
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

async function matchingFiles(context: ActionContext, { input, root, glob, signal }: FilesRequest) {
  const diagnostics = searchDiagnostics()
  const paths: string[] = []
  const end = await runSearch(context, {
    root,
    arguments: globArguments(input, root, glob),
    output: { separator: 0, maxBytes: 8192 },
    take(record) {
      const path = absolutePath(root.directory, record.toString('utf8'))
      if (root.file !== undefined && path !== root.path) return true
      if (paths.length === input.maxResults) return false
      paths.push(path)
      return true
    },
    stderrLine: (line) => diagnostics.push(line),
    signal,
  })
  if (diagnostics.complaint !== undefined) refuseFailed(end, root, diagnostics.complaint)
  return { paths, truncated: end.stopped }
}

const globArguments = (input: Input, root: SearchRoot, glob: string): readonly string[] => [
  ...fixedArguments,
  '--files',
  '--null',
  // In order, so that a cut list is the first part of the whole and the same every time.
  '--sort=path',
  ...(isDirectlyInside(glob) || root.file !== undefined ? ['--max-depth=1'] : []),
  `--glob=${glob}`,
  ...ignoreArguments(ignoredFor({ includeIgnored: input.includeIgnored, pattern: glob })),
  '--',
  '.',
]
