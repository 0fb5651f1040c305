import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { hashField, maxContentBytes, pathField } from './schemas.ts'
import { fromBase64 } from './text/base64.ts'
import { sha256Hex } from './text/strict.ts'
import { writtenSchema } from './write-text.ts'

export const writeBytes = defineAction({
  name: 'write_bytes',
  summary: 'Write a file of any content, given as base64: parents are made, replaced atomically.',
  input: z.strictObject({
    path: pathField,
    base64: z.string().max(Math.ceil(maxContentBytes / 3) * 4),
    expectedSha256: hashField.optional(),
    parents: z.boolean().default(true),
  }),
  output: writtenSchema,
  effect: 'write',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    const bytes = fromBase64(input.base64)
    const { created } = await context.boundary.files.write(path, bytes, {
      parents: input.parents,
      ...(input.expectedSha256 === undefined ? {} : { expectedSha256: input.expectedSha256 }),
    })
    return { path, created, bytes: bytes.length, sha256: sha256Hex(bytes) }
  },
})
