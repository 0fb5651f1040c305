import { z } from 'zod'
import { globText, grepOutput, listText } from '../listing.ts'
import { globResult, grepResult, listResult } from '../results.ts'
import { reads, type ToolRecipe } from '../tool.ts'
import { description, path } from './fields.ts'

const lsInput = z.strictObject({ description, path: path('The directory to list.') })

export const ls: ToolRecipe<typeof lsInput> = {
  name: 'ls',
  description:
    'List a directory, two levels deep. Directories end with a slash; .git, node_modules and the like stay closed.',
  input: lsInput,
  annotations: reads,
  async answer(execute, input) {
    const structured = await execute('list_dir', { path: input.path, depth: 2 }, listResult)
    return { text: listText(structured), structured }
  },
}

const globInput = z.strictObject({
  description,
  pattern: z.string().min(1).max(1024).describe('Relative to path, for example **/*.py or src/*.ts.'),
  path: path('The directory to search.'),
  include_dirs: z.boolean().default(false).describe('Also tell directories that fit.'),
  max_results: z.int().min(1).max(1000).default(200),
})

export const glob: ToolRecipe<typeof globInput> = {
  name: 'glob',
  description: 'Find files whose path fits a pattern. .git, node_modules, dist and the like are left out unless named.',
  input: globInput,
  annotations: reads,
  async answer(execute, input) {
    const structured = await execute(
      'glob_entries',
      { pattern: input.pattern, path: input.path, includeDirs: input.include_dirs, maxResults: input.max_results },
      globResult,
    )
    return { text: globText(structured), structured }
  },
}

const grepInput = z.strictObject({
  description,
  pattern: z.string().min(1).max(4096).describe('A regular expression, or plain text with literal.'),
  path: path('The directory or file to search.'),
  glob: z.string().min(1).max(1024).optional().describe('Only files that fit, for example *.py.'),
  literal: z.boolean().default(false),
  case_sensitive: z.boolean().default(false),
  max_results: z.int().min(1).max(500).default(100),
})

export const grep: ToolRecipe<typeof grepInput> = {
  name: 'grep',
  description:
    'Search the text of files, line by line. Files over 1 MB and binary files are skipped and counted; .git, ' +
    'node_modules, dist and the like are left out.',
  input: grepInput,
  annotations: reads,
  async answer(execute, input) {
    const structured = await execute(
      'grep_text',
      {
        pattern: input.pattern,
        path: input.path,
        literal: input.literal,
        caseSensitive: input.case_sensitive,
        maxResults: input.max_results,
        ...(input.glob === undefined ? {} : { glob: input.glob }),
      },
      grepResult,
    )
    return { text: grepOutput(structured), structured }
  },
}
