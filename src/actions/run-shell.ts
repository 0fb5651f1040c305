import { z } from 'zod'
import { GloveboxError } from '../errors/error.ts'
import { defineAction } from './define.ts'
import { execOutput, execSchema, pathField, secretsField, textField } from './schemas.ts'

/** MAX_ARG_STRLEN: the kernel takes no single argument of 128 KiB or more, its ending NUL included. */
const maxCommandBytes = 128 * 1024 - 1

export const runShell = defineAction({
  name: 'run_shell',
  summary: 'Run a command line in a fresh shell. A command that fails is a result with its exit code, not an error.',
  input: z.strictObject({
    command: textField.min(1).refine((text) => !text.includes('\0'), { message: 'must not hold a NUL byte' }),
    cwd: pathField.optional(),
    env: z.record(z.string(), z.string()).optional().describe('Laid over the environment for this command only.'),
    secrets: secretsField.optional().describe('Values of vaults for this command only, when policy grants them.'),
    timeoutMs: z.int().positive().optional(),
    stdin: textField.optional(),
  }),
  output: execSchema,
  effect: 'execute',
  async perform(context, { command, cwd, env, secrets, timeoutMs, stdin }, signal) {
    refuseTooLong(command)
    // `--` keeps a command line that begins with a dash from being read as options of the shell.
    const result = await context.run([context.shell, '-c', '--', command], {
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(stdin === undefined ? {} : { stdin }),
      ...(signal === undefined ? {} : { signal }),
    })
    return execOutput(result)
  },
})

function refuseTooLong(command: string): void {
  const bytes = Buffer.byteLength(command)
  if (bytes <= maxCommandBytes) return
  throw new GloveboxError(
    'TOO_LARGE',
    `Cannot run the command: it has ${bytes} bytes, the kernel takes ${maxCommandBytes}`,
    {
      hint: 'Write it to a file and run that, or pass the bulk of it by stdin.',
      facts: { bytes, maxBytes: maxCommandBytes },
    },
  )
}
