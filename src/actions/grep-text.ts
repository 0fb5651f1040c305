import { z } from 'zod'
import type { ActionContext } from '../contract/action.ts'
import type { GrepMatch } from '../contract/sandbox.ts'
import { defineAction } from './define.ts'
import { directoryField } from './schemas.ts'
import { searchDiagnostics } from './search/diagnostics.ts'
import { maxEventBytes, parseSearchEvent } from './search/events.ts'
import { excludeArgument, globArgument, ignoreArguments } from './search/globs.ts'
import { ignoredFor } from './search/ignored.ts'
import { matchCollector } from './search/matches.ts'
import { fixedArguments, refuseFailed, runSearch } from './search/program.ts'
import { absolutePath, refuseVault, searchRoot, vaultsBelow, type SearchRoot } from './search/root.ts'

const maxFileBytes = 1024 * 1024
const newline = 0x0a

const inputSchema = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(4096)
    .refine((text) => !/[\0\n]/.test(text), {
      message: 'must have no NUL and no line break: a match lies in one line',
    }),
  path: directoryField.describe('A directory or a file.'),
  glob: z.string().min(1).max(1024).optional().describe('Only files that fit, for example *.ts (at any depth).'),
  literal: z.boolean().default(false).describe('The pattern is plain text, not a regular expression.'),
  caseSensitive: z.boolean().default(true),
  maxResults: z.int().positive().max(500).default(100),
  includeIgnored: z.boolean().default(false).describe('Also search .git, node_modules and the like.'),
})

type Input = z.infer<typeof inputSchema>

const count = z.int().nonnegative()

export const grepText = defineAction({
  name: 'grep_text',
  summary: 'Search the text of files for a pattern. Files over 1 MiB and binary files are skipped and counted.',
  input: inputSchema,
  output: z.strictObject({
    path: z.string(),
    matches: z.array(z.strictObject({ path: z.string(), line: z.int(), text: z.string() })),
    truncated: z.boolean().describe('There is more. The search stopped there, so the counts are of what it had seen.'),
    skippedLargeFiles: count,
    skippedBinaryFiles: count,
    unreadableFiles: count,
  }),
  effect: 'read',
  async perform(context, input, signal) {
    const root = await searchRoot(context, input.path)
    refuseVault(context.describe().mounts, root.path)
    // The program's size limit does not hold for a file that is named to it.
    if (root.file !== undefined && root.sizeBytes > maxFileBytes) return { ...nothing(root), skippedLargeFiles: 1 }

    const diagnostics = searchDiagnostics()
    const collector = matchCollector(input.maxResults)
    const end = await runSearch(context, {
      root,
      arguments: grepArguments(context, input, root),
      output: { separator: newline, maxBytes: maxEventBytes },
      take: (record) => collector.take(parseSearchEvent(record)),
      stderrLine: (line) => diagnostics.push(line),
      signal,
    })
    if (!collector.finished) refuseFailed(end, root, diagnostics.complaint)
    return {
      path: root.path,
      matches: collector.matches().map((match) => shownIn(root, match)),
      truncated: end.stopped,
      skippedLargeFiles: diagnostics.skippedLarge,
      skippedBinaryFiles: diagnostics.skippedBinary + (root.file === undefined ? 0 : collector.binaryFiles),
      unreadableFiles: diagnostics.unreadable,
    }
  },
})

/**
 * `--debug` gives the counts of skipped files. It also writes a line for each file that `glob` leaves out, about
 * 30 µs each: cheaper than a second pass for all but very large trees.
 */
function grepArguments(context: ActionContext, input: Input, root: SearchRoot): readonly string[] {
  return [
    ...fixedArguments,
    '--json',
    '--debug',
    `--max-filesize=${maxFileBytes}`,
    input.caseSensitive ? '--case-sensitive' : '--ignore-case',
    ...(input.literal ? ['--fixed-strings'] : []),
    ...(input.glob === undefined ? [] : [`--glob=${globArgument(input.glob)}`]),
    ...ignoreArguments(ignoredFor({ includeIgnored: input.includeIgnored, pattern: input.glob ?? '' })),
    ...vaultsBelow(context.describe().mounts, root.directory).map(excludeArgument),
    // `-e` and `--` keep a pattern or name that begins with a dash from being read as a flag.
    '-e',
    input.pattern,
    '--',
    root.file === undefined ? '.' : `./${root.file}`,
  ]
}

const shownIn = (root: SearchRoot, match: GrepMatch): GrepMatch => ({
  ...match,
  path: absolutePath(root.directory, match.path),
})

const nothing = (root: SearchRoot) => ({
  path: root.path,
  matches: [],
  truncated: false,
  skippedLargeFiles: 0,
  skippedBinaryFiles: 0,
  unreadableFiles: 0,
})
