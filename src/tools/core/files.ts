import { z } from 'zod'
import { maxReadBytes, readingText } from '../reading.ts'
import { replaceResult, textResult, writeResult } from '../results.ts'
import { reads, writes, type ToolRecipe } from '../tool.ts'

const filePath = z.string().min(1).max(4096).describe('Absolute, or relative to the working directory.')

const readInput = z.strictObject({
  file_path: filePath,
  view_range: z
    .tuple([z.int().min(1), z.union([z.int().min(1), z.literal(-1)])])
    .optional()
    .describe('First and last line, counted from 1 and both included; -1 means up to the end.'),
})

export const read: ToolRecipe<typeof readInput> = {
  name: 'read',
  description: 'Read a text file or a range of its lines. At most 50,000 characters; a cut says how to read on.',
  input: readInput,
  annotations: reads,
  async answer(execute, { file_path: path, view_range: range }) {
    const lines = range === undefined ? {} : { startLine: range[0], ...(range[1] === -1 ? {} : { endLine: range[1] }) }
    const structured = await execute('read_text', { path, maxBytes: maxReadBytes, ...lines }, textResult)
    const text = readingText(structured, { readOn: (next) => `Read on with view_range [${next}, -1].` })
    return { text, structured }
  },
}

const writeInput = z.strictObject({ file_path: filePath, content: z.string() })

export const write: ToolRecipe<typeof writeInput> = {
  name: 'write',
  description: 'Write a text file: missing directories are made, the old content is replaced at once or not at all.',
  input: writeInput,
  annotations: { ...writes, idempotentHint: true },
  async answer(execute, { file_path: path, content }) {
    const written = await execute('write_text', { path, text: content }, writeResult)
    const verb = written.created ? 'Created' : 'Replaced'
    return { text: `${verb} ${written.path} (${written.bytes} bytes)`, structured: written }
  },
}

const editInput = z.strictObject({
  file_path: filePath,
  old_string: z.string().min(1).describe('The exact text to replace, with its spaces and line breaks.'),
  new_string: z.string(),
  replace_all: z.boolean().default(false),
})

export const edit: ToolRecipe<typeof editInput> = {
  name: 'edit',
  description: 'Replace a text in a file. It must be there exactly once, unless replace_all.',
  input: editInput,
  annotations: writes,
  async answer(execute, input) {
    const asked = {
      path: input.file_path,
      oldText: input.old_string,
      newText: input.new_string,
      all: input.replace_all,
    }
    const replaced = await execute('replace_text', asked, replaceResult)
    const times = replaced.count === 1 ? '1 place' : `${replaced.count} places`
    return { text: `Replaced ${times} in ${replaced.path}`, structured: replaced }
  },
}
