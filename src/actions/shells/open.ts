import { z } from 'zod'
import { defineAction } from '../define.ts'
import { pathField } from '../schemas.ts'

export const openPersistentShell = defineAction({
  name: 'open_persistent_shell',
  summary:
    'Open a shell that keeps its directory, variables, functions and background jobs from one command to the next.',
  input: z.strictObject({
    cwd: pathField.optional(),
    env: z.record(z.string(), z.string()).optional().describe('Laid over the environment of the sandbox.'),
  }),
  output: z.strictObject({ shellId: z.string() }),
  effect: 'execute',
  async perform(context, { cwd, env }, signal) {
    const shell = await context.shells.open({
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(signal === undefined ? {} : { signal }),
    })
    return { shellId: shell.id }
  },
})
