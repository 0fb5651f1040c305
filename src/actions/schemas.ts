// Fields that several actions have in common, so that they mean and refuse the same everywhere.
import { z } from 'zod'
import { denialKinds } from '../contract/denial.ts'
import type { ExecResult } from '../contract/exec.ts'

const bytesPerMebibyte = 1024 * 1024
/** The largest content that passes through one file action. */
export const maxContentBytes = 16 * bytesPerMebibyte

/** The kernel takes paths of at most 4,095 bytes; what is malformed beyond that is told by paths/guest. */
export const pathField = z.string().min(1).max(4096).describe('Absolute, or relative to the working directory.')
export const directoryField = pathField.default('.')

/** A lone surrogate has no UTF-8 form: encoding would put U+FFFD in its place without a word. */
export const textField = z
  .string()
  .max(maxContentBytes)
  .refine((text) => !/\p{Surrogate}/u.test(text), { message: 'holds half of a surrogate pair, which is not text' })

export const hashField = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal')
  .nullable()
  .describe('Refuse unless the present content has this hash; null demands that no file is there.')

const secretName = z.string().min(3).max(200).describe('A secret with its vault: `keys/token`.')

/** For one command, when policy grants it. */
export const secretsField = z
  .array(
    z.union([
      secretName.describe('As the variable of its own name.'),
      z.strictObject({ name: secretName, env: z.string().min(1).max(128).describe('The variable that gets it.') }),
      z.strictObject({ name: secretName, file: z.string().min(1).max(128).describe('The file below /run/secrets.') }),
    ]),
  )
  .max(100)

export const vaultSchema = z.strictObject({
  name: z.string(),
  guestPath: z.string(),
  source: z.enum(['directory', 'environment', 'command']),
  secrets: z.array(z.strictObject({ name: z.string(), granted: z.boolean() })),
})

export const kindSchema = z.enum(['file', 'directory', 'symlink', 'other'])
const count = z.int().nonnegative()

export const statSchema = z.strictObject({
  path: z.string(),
  kind: kindSchema,
  sizeBytes: count,
  modifiedMs: z.number(),
  mode: count,
  target: z.string().optional(),
})

const afterMs = z.number().nonnegative()

export const endedSchema = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('exit'), code: z.int() }),
  z.strictObject({ by: z.literal('signal'), signal: z.string() }),
  z.strictObject({ by: z.literal('timeout'), afterMs }),
  z.strictObject({ by: z.literal('cancel'), afterMs }),
  z.strictObject({ by: z.literal('oom') }),
  z.strictObject({ by: z.literal('lost'), reason: z.string() }),
])

const denialSchema = z.strictObject({
  backend: z.string(),
  kind: z.enum(denialKinds),
  subject: z.string(),
  rule: z.string(),
  reason: z.string(),
  evidence: z.enum(['decided', 'observed']),
})

/** How a command ended and what it said. Bounded by the policy's `maxStdoutBytes` and `maxStderrBytes`. */
export const execSchema = z.strictObject({
  execId: z.string(),
  ended: endedSchema,
  exitCode: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  stdoutTotalBytes: count,
  stderrTotalBytes: count,
  stdoutTruncated: z.boolean(),
  stderrTruncated: z.boolean(),
  durationMs: z.number().nonnegative(),
  denials: z.array(denialSchema),
})

/** The result without its raw bytes, which JSON cannot carry. */
export function execOutput(result: ExecResult): z.infer<typeof execSchema> {
  return {
    execId: result.execId,
    ended: result.ended,
    exitCode: result.exitCode,
    stdout: result.stdout,
    stderr: result.stderr,
    stdoutTotalBytes: result.stdoutTotalBytes,
    stderrTotalBytes: result.stderrTotalBytes,
    stdoutTruncated: result.stdoutTruncated,
    stderrTruncated: result.stderrTruncated,
    durationMs: result.durationMs,
    denials: [...result.denials],
  }
}
