import { z } from 'zod'
import { maxReadBytes, readingText } from '../reading.ts'
import { appendResult, replaceResult, textResult, writeResult } from '../results.ts'
import { reads, writes, type ToolRecipe } from '../tool.ts'
import { description, path } from './fields.ts'

const line = z.int().min(1).optional()

const readInput = z.strictObject({
  description,
  path: path('The text file to read.'),
  start_line: line.describe('The first line, counted from 1.'),
  end_line: line.describe('The last line, included.'),
})

export const readFile: ToolRecipe<typeof readInput> = {
  name: 'read_file',
  description: 'Read a text file or a range of its lines. At most 50,000 characters; a cut says how to read on.',
  input: readInput,
  annotations: reads,
  async answer(execute, input) {
    const range = {
      ...(input.start_line === undefined ? {} : { startLine: input.start_line }),
      ...(input.end_line === undefined ? {} : { endLine: input.end_line }),
    }
    const structured = await execute('read_text', { path: input.path, maxBytes: maxReadBytes, ...range }, textResult)
    const text = readingText(structured, { readOn: (next) => `Read on with start_line ${next}.` })
    return { text, structured }
  },
}

const writeInput = z.strictObject({
  description,
  path: path('The file to write.'),
  content: z.string(),
  append: z.boolean().default(false).describe('Add at the end instead of replacing.'),
})

export const writeFile: ToolRecipe<typeof writeInput> = {
  name: 'write_file',
  description: 'Write a text file: missing directories are made, the old content is replaced at once or not at all.',
  input: writeInput,
  annotations: writes,
  async answer(execute, input) {
    const asked = { path: input.path, text: input.content }
    if (input.append) {
      const appended = await execute('append_text', asked, appendResult)
      return { text: `OK: added ${appended.bytes} bytes to ${appended.path}`, structured: appended }
    }
    const written = await execute('write_text', asked, writeResult)
    const verb = written.created ? 'created' : 'replaced'
    return { text: `OK: ${verb} ${written.path} (${written.bytes} bytes)`, structured: written }
  },
}

const replaceInput = z.strictObject({
  description,
  path: path('The file to change.'),
  old_str: z.string().min(1).describe('The exact text to replace, with its spaces and line breaks.'),
  new_str: z.string(),
  replace_all: z.boolean().default(false),
})

export const strReplace: ToolRecipe<typeof replaceInput> = {
  name: 'str_replace',
  description: 'Replace a text in a file. It must be there exactly once, unless replace_all.',
  input: replaceInput,
  annotations: writes,
  async answer(execute, input) {
    const asked = { path: input.path, oldText: input.old_str, newText: input.new_str, all: input.replace_all }
    const replaced = await execute('replace_text', asked, replaceResult)
    const times = replaced.count === 1 ? '1 place' : `${replaced.count} places`
    return { text: `OK: replaced ${times} in ${replaced.path}`, structured: replaced }
  },
}
