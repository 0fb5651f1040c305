// What the actions of persistent shells have in common: how one is named, and how a command in it is told.
import { z } from 'zod'
import type { ActionContext } from '../../contract/action.ts'
import type { Shell, ShellResult, ShellWaited } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { execOutput, execSchema } from '../schemas.ts'

export const shellIdField = z
  .string()
  .regex(/^sh_[0-9a-z]{8,64}$/, 'must be the id of a shell')
  .describe('As open_persistent_shell answered it.')

const longestWaitMs = 10 * 60 * 1000
export const waitField = z.int().min(0).max(longestWaitMs)

export const stateSchema = z
  .enum(['kept', 'rebuilt', 'lost'])
  .describe(
    'What is left of the shell: all; all but its jobs, since the command ended it or had to be ended; or nothing, and it begins anew.',
  )

const numberField = z.int().positive().describe('Commands of a shell are numbered from 1.')
const count = z.int().nonnegative()

/** A command that has ended, or the head of what it has said so far. */
export const shellCommandSchema = z.discriminatedUnion('done', [
  z.strictObject({
    done: z.literal(true),
    shellId: z.string(),
    number: numberField,
    ...execSchema.shape,
    state: stateSchema,
    note: z.string().optional().describe('Why the state is not `kept`, and what is gone.'),
  }),
  z.strictObject({
    done: z.literal(false),
    shellId: z.string(),
    number: numberField,
    started: z.boolean().describe('False: it waits for those before it.'),
    elapsedMs: z.number().nonnegative(),
    stdout: z.string(),
    stderr: z.string(),
    stdoutTotalBytes: count,
    stderrTotalBytes: count,
  }),
])

type ShellCommandAnswer = z.infer<typeof shellCommandSchema>

export function waitedOutput(waited: ShellWaited): ShellCommandAnswer {
  if (waited.done) return resultOutput(waited.result)
  const { command: _, ...progress } = waited.progress
  return { done: false, ...progress }
}

export function resultOutput(result: ShellResult): ShellCommandAnswer {
  const { shellId, number, state, note } = result
  return { done: true, shellId, number, ...execOutput(result), state, ...(note === undefined ? {} : { note }) }
}

export async function commandShell(context: ActionContext, shellId: string): Promise<Shell> {
  const shell = await context.shells.get(shellId)
  if (shell.kind === 'commands') return shell
  throw new GloveboxError('INVALID_INPUT', 'Cannot use the shell so: it is a terminal', {
    hint: 'Open another one with open_persistent_shell.',
  })
}
