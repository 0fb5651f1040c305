import { z } from 'zod'
import { defineAction } from '../define.ts'
import { commandShell, shellCommandSchema, shellIdField, waitedOutput, waitField } from './schemas.ts'

const customaryWaitMs = 30_000

export const waitPersistentShell = defineAction({
  name: 'wait_persistent_shell',
  summary: 'Wait for the end of a command in a shell, or tell how far it has come when the time is over.',
  input: z.strictObject({
    shellId: shellIdField,
    number: z.int().positive().optional().describe('Which command. Default: the last one.'),
    waitMs: waitField.default(customaryWaitMs).describe('How long at most; 0 answers at once.'),
  }),
  output: shellCommandSchema,
  effect: 'read',
  async perform(context, { shellId, number, waitMs }, signal) {
    const shell = await commandShell(context, shellId)
    const waited = await shell.wait({
      waitMs,
      ...(number === undefined ? {} : { number }),
      ...(signal === undefined ? {} : { signal }),
    })
    return waitedOutput(waited)
  },
})
