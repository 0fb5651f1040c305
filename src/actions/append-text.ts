import { z } from 'zod'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { maxContentBytes, pathField, textField } from './schemas.ts'
import { fromBase64 } from './text/base64.ts'
import { encodeText } from './text/strict.ts'

export const appendText = defineAction({
  name: 'append_text',
  summary: 'Add text (or bytes as base64) at the end of a file. The file and its parents are made when missing.',
  input: z.strictObject({
    path: pathField,
    text: textField.optional(),
    base64: z
      .string()
      .max(Math.ceil(maxContentBytes / 3) * 4)
      .optional(),
  }),
  output: z.strictObject({ path: z.string(), bytes: z.int().nonnegative() }),
  effect: 'write',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    const bytes = contentOf(input)
    await context.boundary.files.append(path, bytes)
    return { path, bytes: bytes.length }
  },
})

function contentOf(input: { readonly text?: string | undefined; readonly base64?: string | undefined }): Uint8Array {
  if (input.text !== undefined && input.base64 === undefined) return encodeText(input.text)
  if (input.base64 !== undefined && input.text === undefined) return fromBase64(input.base64)
  throw new GloveboxError('INVALID_INPUT', 'Cannot append: exactly one of text and base64 must be given')
}
