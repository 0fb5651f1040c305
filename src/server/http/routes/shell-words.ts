// What the routes of shells have in common: how one is named, found and shown.
import { z } from 'zod'
import { endedSchema, execOutput, execSchema } from '../../../actions/schemas.ts'
import type { Shell, ShellResult, ShellWaited, Terminal } from '../../../contract/shell.ts'
import { largestSize, type TerminalSize } from '../../../contract/terminal.ts'
import { GloveboxError } from '../../../errors/error.ts'
import type { HostedSandbox, SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { notFound, type Principal } from '../principal.ts'
import { named } from '../route.ts'
import { hostedFor, sandboxIdSchema } from './sandbox-words.ts'

export const shellIdSchema = z.string().regex(/^sh_[0-9a-f]{32}$/, 'must be an id of a shell')
export const shellParams = z.strictObject({ sandbox_id: sandboxIdSchema, shell_id: shellIdSchema })

const count = z.int().nonnegative()
export const sizeSchema = z.strictObject({
  cols: z.int().min(1).max(largestSize.cols),
  rows: z.int().min(1).max(largestSize.rows),
}) satisfies z.ZodType<TerminalSize>

const stateSchema = z
  .enum(['kept', 'rebuilt', 'lost'])
  .describe('What is left of the shell: all; all but its jobs, in another one; or nothing, and it begins anew.')

export const shellInfo = named(
  'Shell',
  z.strictObject({
    id: shellIdSchema,
    kind: z.enum(['commands', 'terminal']),
    status: z.enum(['idle', 'busy', 'closed']),
    openedAt: z.string(),
    cwd: z.string(),
    commands: count.describe('How many have ended.'),
    queued: count.describe('How many wait behind the current one.'),
    current: z.strictObject({ number: count, command: z.string(), elapsedMs: z.number() }).optional(),
    last: z
      .strictObject({
        number: count,
        command: z.string(),
        ended: endedSchema,
        exitCode: z.int(),
        state: stateSchema,
      })
      .optional(),
    size: sizeSchema.optional().describe('Of a terminal.'),
  }),
)

const resultSchema = z.strictObject({
  ...execSchema.shape,
  shellId: shellIdSchema,
  number: count.describe('Commands of a shell are numbered from 1.'),
  command: z.string(),
  state: stateSchema,
  note: z.string().optional().describe('Why the state is not `kept`, and what is gone.'),
})
export const shellResult = named('ShellResult', resultSchema)

export const shellWaited = named(
  'ShellWaited',
  z.discriminatedUnion('done', [
    z.strictObject({ done: z.literal(true), result: resultSchema }),
    z.strictObject({
      done: z.literal(false),
      progress: z.strictObject({
        shellId: shellIdSchema,
        number: count,
        command: z.string(),
        started: z.boolean().describe('False: it waits for those before it.'),
        elapsedMs: z.number(),
        stdout: z.string().describe('The head of what it has said so far.'),
        stderr: z.string(),
        stdoutTotalBytes: count,
        stderrTotalBytes: count,
      }),
    }),
  ]),
)

const { stdout: _stdout, stderr: _stderr, ...told } = resultSchema.shape
export const shellCommandEvent = named(
  'ShellCommandEvent',
  z
    .union([z.strictObject({ text: z.string() }), z.strictObject({ base64: z.string() }), z.strictObject(told)])
    .describe('Of the events `stdout` and `stderr`: text, or base64 where it is none. Of `ended`: how it ended.'),
)

/** The result without the output, which came before. */
export function endOf(done: ShellResult) {
  const { stdout: _, stderr: _error, ...rest } = resultOf(done)
  return rest
}

export function resultOf(done: ShellResult): z.infer<typeof resultSchema> {
  const { shellId, number, command, state, note } = done
  return { ...execOutput(done), shellId, number, command, state, ...(note === undefined ? {} : { note }) }
}

export const waitedOf = (waited: ShellWaited) =>
  waited.done ? { done: true, result: resultOf(asKept(waited.result)) } : waited

/** The shell itself keeps the head of what was said, whatever the policy allows; the rest has gone to whoever began it. */
const asKept = (result: ShellResult): ShellResult => ({
  ...result,
  stdoutTruncated: result.stdoutBytes.length < result.stdoutTotalBytes,
  stderrTruncated: result.stderrBytes.length < result.stderrTotalBytes,
})

export interface FoundShell {
  readonly hosted: HostedSandbox
  readonly shell: Shell | Terminal
}

type ShellOf = { readonly sandbox_id: string; readonly shell_id: string }

export async function shellFor(
  house: SandboxHouse,
  { sandbox_id, shell_id }: ShellOf,
  principal: Principal,
): Promise<FoundShell> {
  const hosted = hostedFor(house, sandbox_id, principal)
  try {
    return { hosted, shell: await hosted.sandbox.shells.get(shell_id) }
  } catch (error) {
    if (error instanceof GloveboxError && error.code === 'NOT_FOUND') throw notFound('shell')
    throw error
  }
}

export function requireCommands({ shell }: FoundShell): Shell {
  if (shell.kind === 'commands') return shell
  throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: the shell is a terminal', {
    hint: 'Write to it, and read its events; or open a shell without pty.',
  })
}

export function requireTerminal({ shell }: FoundShell): Terminal {
  if (shell.kind === 'terminal') return shell
  throw new GloveboxError('INVALID_INPUT', 'Cannot use the shell so: it is no terminal', {
    hint: 'Run commands in it; or open one with pty.',
  })
}
