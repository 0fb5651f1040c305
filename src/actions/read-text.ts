import { z } from 'zod'
import type { FileAccess, ReadResult } from '../contract/files.ts'
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { maxContentBytes, pathField } from './schemas.ts'
import { countLines } from './text/lines.ts'
import { decodeText, sha256Hex } from './text/strict.ts'
import { viewRange, viewTail, type View } from './text/view.ts'

const lineNumber = z.int().positive()
const defaultMaxBytes = 1024 * 1024

const inputSchema = z
  .strictObject({
    path: pathField,
    startLine: lineNumber.optional().describe('The first line, counted from 1.'),
    endLine: lineNumber.optional().describe('The last line, included. Past the end means up to the end.'),
    tailLines: lineNumber.max(1_000_000).optional().describe('Only the last lines, this many.'),
    maxBytes: z.int().min(4).max(maxContentBytes).optional().describe('1 MiB if left out; 16 MiB with `whole`.'),
    whole: z.boolean().default(false).describe('Refuse with TOO_LARGE instead of cutting.'),
  })
  .refine((input) => input.tailLines === undefined || (input.startLine ?? input.endLine) === undefined, {
    message: 'cannot be given together with startLine or endLine',
    path: ['tailLines'],
  })
  .refine((input) => (input.startLine ?? 1) <= (input.endLine ?? Number.POSITIVE_INFINITY), {
    message: 'must not be before startLine',
    path: ['endLine'],
  })

type Input = z.infer<typeof inputSchema>

export const readText = defineAction({
  name: 'read_text',
  summary: 'Read a text file, a range of its lines, or its end. Line ends and byte order mark are kept.',
  input: inputSchema,
  output: z.strictObject({
    path: z.string(),
    text: z.string(),
    startLine: z.int().optional().describe('Absent in the tail of a very large file, whose lines were not counted.'),
    endLine: z.int().optional(),
    totalLines: z.int().nonnegative().optional().describe('Present when the whole file was read.'),
    sizeBytes: z.int().nonnegative(),
    sha256: z.string().optional().describe('Of the whole file; present when all of it was read.'),
    truncated: z.boolean(),
  }),
  effect: 'read',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    const { bytes, sizeBytes, offset } = await readWindow(context.boundary.files, path, input)
    const view = viewOf(bytes, { path, input, offset, sizeBytes })
    if (view.truncated && input.whole) throw tooLarge(path, maxBytesOf(input))
    const all = bytes.length === sizeBytes
    return {
      path,
      text: decodeText(bytes.subarray(view.start, view.end), path),
      ...(view.startLine === undefined ? {} : { startLine: view.startLine }),
      ...(view.endLine === undefined ? {} : { endLine: view.endLine }),
      ...(all ? { totalLines: countLines(bytes), sha256: sha256Hex(bytes) } : {}),
      sizeBytes,
      truncated: view.truncated,
    }
  },
})

const maxBytesOf = (input: Input): number => input.maxBytes ?? (input.whole ? maxContentBytes : defaultMaxBytes)

/** What is shown comes from one read, so that a file replaced meanwhile is seen old or new, never as a mixture. */
async function readWindow(files: FileAccess, path: GuestPath, input: Input): Promise<ReadResult & { offset: number }> {
  const window = { maxBytes: maxContentBytes, partial: true }
  const head = await files.read(path, window)
  if (input.tailLines === undefined || head.bytes.length === head.sizeBytes) return { ...head, offset: 0 }
  const offset = head.sizeBytes - maxContentBytes
  return { ...(await files.read(path, { ...window, offset })), offset }
}

interface Window {
  readonly path: GuestPath
  readonly input: Input
  readonly offset: number
  readonly sizeBytes: number
}

function viewOf(bytes: Uint8Array, { path, input, offset, sizeBytes }: Window): View {
  const { tailLines, startLine = 1, endLine } = input
  const maxBytes = maxBytesOf(input)
  if (tailLines !== undefined) return viewTail(bytes, { lines: tailLines, maxBytes, fromBeginning: offset === 0 })
  return viewRange(bytes, { path, startLine, endLine, maxBytes, more: bytes.length < sizeBytes })
}

const tooLarge = (path: GuestPath, maxBytes: number): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot read ${path}: what was asked for is larger than ${maxBytes} bytes`, {
    hint: 'Read a range of lines, or raise maxBytes.',
    facts: { maxBytes },
  })
