import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { maxContentBytes, pathField } from './schemas.ts'
import { toBase64 } from './text/base64.ts'

export const readBytes = defineAction({
  name: 'read_bytes',
  summary: 'Read a file of any content as base64. With an offset or `partial`, a part of it.',
  input: z.strictObject({
    path: pathField,
    offset: z.int().nonnegative().default(0),
    maxBytes: z.int().positive().max(maxContentBytes).default(maxContentBytes),
    partial: z.boolean().default(false).describe('Return the first part of a larger file instead of refusing it.'),
    versioned: z.boolean().default(false).describe('Tell the version: parts that have the same one belong together.'),
  }),
  output: z.strictObject({
    path: z.string(),
    base64: z.string(),
    bytes: z.int().nonnegative(),
    sizeBytes: z.int().nonnegative(),
    truncated: z.boolean().describe('Does the file go on after what was returned?'),
    version: z.string().optional().describe('Where it was asked for. Another when the file is changed or replaced.'),
  }),
  effect: 'read',
  async perform(context, { path: text, offset, maxBytes, partial, versioned }) {
    const path = parseGuestPath(text, context.cwd)
    const { bytes, sizeBytes, version } = await context.boundary.files.read(path, { offset, maxBytes, partial })
    const truncated = offset + bytes.length < sizeBytes
    const read = { path, base64: toBase64(bytes), bytes: bytes.length, sizeBytes, truncated }
    return versioned ? { ...read, version } : read
  },
})
