import { z } from 'zod'
import { defineAction } from '../define.ts'
import { textField } from '../schemas.ts'
import { commandShell, resultOutput, shellCommandSchema, shellIdField, waitedOutput, waitField } from './schemas.ts'

export const execPersistentShell = defineAction({
  name: 'exec_persistent_shell',
  summary:
    'Run a command line in an open shell, after those that it was given before. A command that fails is a result with its exit code.',
  input: z.strictObject({
    shellId: shellIdField,
    command: textField.min(1).refine((text) => !text.includes('\0'), { message: 'must not hold a NUL byte' }),
    timeoutMs: z.int().positive().optional(),
    waitMs: waitField
      .optional()
      .describe(
        'Answer after this time, though the command still runs; wait_persistent_shell tells more. Default: its end.',
      ),
  }),
  output: shellCommandSchema,
  effect: 'execute',
  async perform(context, { shellId, command, timeoutMs, waitMs }, signal) {
    const shell = await commandShell(context, shellId)
    const options = {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(signal === undefined ? {} : { signal }),
    }
    if (waitMs === undefined) return resultOutput(await shell.exec(command, options))
    const { number } = await shell.start(command, options)
    return waitedOutput(await shell.wait({ number, waitMs }))
  },
})
