import { z } from 'zod'
import { defineAction } from './define.ts'
import { checkCommand } from './commands/check.ts'
import { execOutput, execSchema, pathField, textField } from './schemas.ts'

const argument = z
  .string()
  .max(128 * 1024 - 1)
  .refine((text) => !text.includes('\0'), { message: 'must not hold a NUL byte' })

/** SECURITY: system directories only, so that a program of the same name in a directory that the guest can write is
 * not taken for one of the set. test/attacks/actions: "run_command does not take a program from the workspace" */
const systemPath = '/usr/bin:/bin'

export const runCommand = defineAction({
  name: 'run_command',
  summary: 'Run one of a bounded set of read-only programs (ls, cat, head, wc, stat, sort, diff …) without a shell.',
  input: z.strictObject({
    argv: z.array(argument).min(1).max(256),
    cwd: pathField.optional(),
    timeoutMs: z.int().positive().optional(),
    stdin: textField.optional(),
  }),
  output: execSchema,
  effect: 'read',
  async perform(context, { argv, cwd, timeoutMs, stdin }, signal) {
    checkCommand(argv)
    const [name = '', ...args] = argv
    // `env` is there to tell the environment as a shell would have it, so nothing is laid over it.
    const isEnv = name === 'env'
    const result = await context.run([isEnv ? '/usr/bin/env' : name, ...args], {
      ...(isEnv ? {} : { env: { PATH: systemPath } }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(stdin === undefined ? {} : { stdin }),
      ...(signal === undefined ? {} : { signal }),
    })
    return execOutput(result)
  },
})
