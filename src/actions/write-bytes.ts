import { z } from 'zod'
import { defineAction } from './define.ts'
import { hashField, maxContentBytes, pathField } from './schemas.ts'
import { fromBase64 } from './text/base64.ts'
import { writeWhole, writtenSchema } from './write-whole.ts'

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
  perform: async (context, input) => writeWhole(context, input, fromBase64(input.base64)),
})
