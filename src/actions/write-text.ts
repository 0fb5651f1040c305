import { z } from 'zod'
import { defineAction } from './define.ts'
import { hashField, pathField, textField } from './schemas.ts'
import { encodeText } from './text/strict.ts'
import { writeWhole, writtenSchema } from './write-whole.ts'

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
  perform: async (context, input) => writeWhole(context, input, encodeText(input.text)),
})
