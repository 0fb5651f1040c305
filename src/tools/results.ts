// What the tools read of the actions' outputs. Tools know the sandbox only by `execute(name, input)`, whose
// output may come over a wire, so it is checked here.
import { z } from 'zod'

const count = z.int().nonnegative()

export const execResult = z.object({
  execId: z.string(),
  ended: z.looseObject({ by: z.string() }),
  exitCode: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  stdoutTotalBytes: count,
  stderrTotalBytes: count,
  stdoutTruncated: z.boolean(),
  stderrTruncated: z.boolean(),
  durationMs: z.number(),
  denials: z.array(z.looseObject({ subject: z.string(), reason: z.string() })),
})

export const listResult = z.object({
  path: z.string(),
  entries: z.array(
    z.object({
      path: z.string(),
      name: z.string(),
      kind: z.enum(['file', 'directory', 'symlink', 'other']),
      sizeBytes: count,
      target: z.string().optional(),
    }),
  ),
  truncated: z.boolean(),
  unreadable: z.array(z.string()),
})

export const globResult = z.object({ path: z.string(), paths: z.array(z.string()), truncated: z.boolean() })

export const grepResult = z.object({
  path: z.string(),
  matches: z.array(z.object({ path: z.string(), line: z.int(), text: z.string() })),
  truncated: z.boolean(),
  skippedLargeFiles: count,
  skippedBinaryFiles: count,
  unreadableFiles: count,
})

export const textResult = z.object({
  path: z.string(),
  text: z.string(),
  startLine: z.int().optional(),
  endLine: z.int().optional(),
  totalLines: count.optional(),
  sizeBytes: count,
  truncated: z.boolean(),
})

export const writeResult = z.object({ path: z.string(), created: z.boolean(), bytes: count, sha256: z.string() })
export const appendResult = z.object({ path: z.string(), bytes: count })
export const replaceResult = z.object({ path: z.string(), count: z.int().positive(), sha256: z.string() })

export type ExecShown = z.infer<typeof execResult>
export type ListShown = z.infer<typeof listResult>
export type GlobShown = z.infer<typeof globResult>
export type GrepShown = z.infer<typeof grepResult>
export type TextShown = z.infer<typeof textResult>
