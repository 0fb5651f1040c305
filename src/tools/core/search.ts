import { z } from 'zod'
import { globText, grepOutput, listText } from '../listing.ts'
import { globResult, grepResult, listResult } from '../results.ts'
import { reads, type ToolRecipe } from '../tool.ts'

const directory = z.string().min(1).max(4096).optional().describe('Where to search. The working directory if left out.')

const globInput = z.strictObject({
  pattern: z.string().min(1).max(1024).describe('Relative to path, for example **/*.py or src/*.ts.'),
  path: directory,
})

export const glob: ToolRecipe<typeof globInput> = {
  name: 'glob',
  description: 'Find files whose path fits a pattern. .git, node_modules, dist and the like are left out unless named.',
  input: globInput,
  annotations: reads,
  async answer(execute, { pattern, path = '.' }) {
    const structured = await execute('glob_entries', { pattern, path }, globResult)
    return { text: globText(structured), structured }
  },
}

const grepInput = z.strictObject({
  pattern: z.string().min(1).max(4096).describe('A regular expression.'),
  path: directory,
  glob: z.string().min(1).max(1024).optional().describe('Only files that fit, for example *.py.'),
})

export const grep: ToolRecipe<typeof grepInput> = {
  name: 'grep',
  description:
    'Search the text of files, line by line, case-sensitive. Files over 1 MB and binary files are skipped and ' +
    'counted; .git, node_modules, dist and the like are left out.',
  input: grepInput,
  annotations: reads,
  async answer(execute, { pattern, path = '.', glob: only }) {
    const asked = { pattern, path, ...(only === undefined ? {} : { glob: only }) }
    const structured = await execute('grep_text', asked, grepResult)
    return { text: grepOutput(structured), structured }
  },
}

const lsInput = z.strictObject({ path: z.string().min(1).max(4096).describe('The directory to list.') })

export const ls: ToolRecipe<typeof lsInput> = {
  name: 'ls',
  description: 'List one directory. Directories end with a slash.',
  input: lsInput,
  annotations: reads,
  async answer(execute, { path }) {
    const structured = await execute('list_dir', { path }, listResult)
    return { text: listText(structured), structured }
  },
}
