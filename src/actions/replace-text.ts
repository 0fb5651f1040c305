import { z } from 'zod'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { maxContentBytes, pathField, textField } from './schemas.ts'
import { replaceIn } from './text/replace.ts'
import { decodeText, sha256Hex } from './text/strict.ts'

export const replaceText = defineAction({
  name: 'replace_text',
  summary: 'Replace a text in a file. It must be there exactly once, unless all are asked for.',
  input: z.strictObject({
    path: pathField,
    oldText: textField.min(1),
    newText: textField,
    all: z.boolean().default(false),
  }),
  output: z.strictObject({ path: z.string(), count: z.int().positive(), sha256: z.string() }),
  effect: 'write',
  async perform(context, { oldText, newText, all, path: text }) {
    const path = parseGuestPath(text, context.cwd)
    if (oldText === newText) {
      throw new GloveboxError('INVALID_INPUT', `Cannot replace text in ${path}: the old and the new text are the same`)
    }
    let done = { count: 0, sha256: '' }
    await context.boundary.files.update(path, { maxBytes: maxContentBytes }, (bytes) => {
      decodeText(bytes, path)
      const replaced = replaceIn(bytes, { path, oldText, newText, all, maxBytes: maxContentBytes })
      done = { count: replaced.count, sha256: sha256Hex(replaced.bytes) }
      return replaced.bytes
    })
    return { path, ...done }
  },
})
