import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { hashField, pathField, textField } from './schemas.ts'
import { encodeText, sha256Hex } from './text/strict.ts'

export const writtenSchema = z.strictObject({
  path: z.string(),
  created: z.boolean(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
})

export const writeText = defineAction({
  name: 'write_text',
  summary: 'Write a text file: parents are made, the old content is replaced atomically.',
  input: z.strictObject({
    path: pathField,
    text: textField,
    expectedSha256: hashField.optional(),
    parents: z.boolean().default(true),
  }),
  output: writtenSchema,
  effect: 'write',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    const bytes = encodeText(input.text)
    const { created } = await context.boundary.files.write(path, bytes, {
      parents: input.parents,
      ...(input.expectedSha256 === undefined ? {} : { expectedSha256: input.expectedSha256 }),
    })
    return { path, created, bytes: bytes.length, sha256: sha256Hex(bytes) }
  },
})
