// Commands in a sandbox. A caller waits for the result, follows the output as it comes, or asks for it later: the command goes
// on whatever happens to the connection of one who follows, and ends with the connection of one who waits for it alone.
import { z } from 'zod'
import { endedSchema, execOutput, execSchema, secretsField } from '../../../actions/schemas.ts'
import type { ExecResult, RunOptions } from '../../../contract/exec.ts'
import type { SecretUse } from '../../../contract/vault.ts'
import { GloveboxError } from '../../../errors/error.ts'
import type { Command, HostedCommand } from '../../../runtime/server/commands.ts'
import type { JournalPosition } from '../../../runtime/server/journal.ts'
import type { HostedSandbox, SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { empty, events, json, type StreamedEvent } from '../answer.ts'
import { notFound } from '../principal.ts'
import { asksForEvents } from '../request.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { hostedFor, sandboxIdSchema, sandboxParams } from './sandbox-words.ts'
import { environmentSchema } from './sandboxes.ts'

const tag = 'commands'
const maxStdinBytes = 16 * 1024 * 1024

const argvSchema = z.array(z.string().max(131_072)).min(1).max(10_000)

const request = named(
  'CommandRequest',
  z
    .strictObject({
      command: z
        .union([z.string().min(1).max(131_072), argvSchema])
        .optional()
        .describe('Text is run by the shell; a list is run as it is. Needed unless `argv` is given.'),
      argv: argvSchema.optional().describe('Run as it is; no shell reads it.'),
      cwd: z.string().min(1).max(4096).optional(),
      env: environmentSchema.optional(),
      secrets: secretsField.optional().describe('Values of vaults for this command only, when policy grants them.'),
      timeoutMs: z.int().positive().optional(),
      stdin: z.string().optional(),
      stdinBase64: z.base64().optional(),
      background: z.boolean().optional().describe('Answer at once; the output is followed by its events.'),
    })
    .refine(({ command, argv }) => (command === undefined) !== (argv === undefined), 'needs either command or argv'),
)
const result = named('CommandResult', execSchema)
const { stdout: _stdout, stderr: _stderr, ...told } = execSchema.shape
const endedEvent = z.strictObject({ ...told, ended: endedSchema })
const event = named(
  'CommandEvent',
  z
    .union([z.strictObject({ text: z.string() }), z.strictObject({ base64: z.string() }), endedEvent])
    .describe('Of the events `stdout` and `stderr`: text, or base64 where it is none. Of `ended`: how it ended.'),
)
const execIdSchema = z.string().regex(/^exec_[0-9a-f]{32}$/, 'must be an id of an exec')
const status = named(
  'Command',
  z.strictObject({
    execId: execIdSchema,
    status: z.enum(['running', 'ended']),
    startedAt: z.string(),
    result: execSchema.nullable(),
  }),
)
const commandParams = z.strictObject({ sandbox_id: sandboxIdSchema, exec_id: execIdSchema })

const statusOf = ({ execId, startedAt, result: done }: HostedCommand) => ({
  execId,
  status: done === undefined ? 'running' : 'ended',
  startedAt,
  result: done === undefined ? null : execOutput(done),
})

export const commandRoutes: RouteModule<{ readonly house: SandboxHouse }> = ({ house }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/commands',
    tag,
    audit: 'command.run',
    isQuick: true,
    summary: 'Run a command.',
    description:
      'With `Accept: text/event-stream` its output comes as events; the address for coming back is in Location. A command that fails is a result, not an error.',
    scope: 'exec',
    params: sandboxParams,
    body: request,
    maxBodyBytes: maxStdinBytes * 2,
    headers: { Accept: '`application/json` to wait for the result, `text/event-stream` to follow.' },
    answers: {
      200: { description: 'It has ended; or its events.', json: result, events: event },
      202: { description: 'It runs in the background.', json: status },
    },
    errors: [
      'INVALID_ENV',
      'OUTSIDE_MOUNTS',
      'POLICY_ESCALATION',
      'SECRET_UNAVAILABLE',
      'BOUNDARY_FAILED',
      'SANDBOX_GONE',
      'QUOTA_EXCEEDED',
      'CANCELLED',
    ],
    handle: async (call) => {
      const { tokenId } = call.principal
      const { commands, id } = hostedFor(house, call.params.sandbox_id, call.principal)
      const { background, ...asked } = call.body
      const options = optionsOf(asked)
      const command = (asked.command ?? asked.argv) as Command
      const follows = asksForEvents(call.header('accept'))
      if (!follows && background !== true) {
        const waited = { ...options, signal: call.signal, taken: call.taken }
        return json(200, execOutput(await commands.run(tokenId, command, waited)))
      }
      const started = commands.start(tokenId, command, options)
      // SECURITY: it may be input that the command never reads. test/e2e/server-shares: "of a command counts until that has ended: %s"
      call.holdBodyUntil(started.settled)
      await Promise.race([started.settled, nextTurn()])
      const location = `/sandboxes/${id}/commands/${started.execId}`
      if (!follows) return json(202, statusOf(started), { location })
      return events((signal) => eventsOf(started, { stdout: 0, stderr: 0 }, signal), { location: `${location}/events` })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/commands/{exec_id}',
    tag,
    summary: 'How a command stands that was followed or runs in the background.',
    scope: 'read',
    params: commandParams,
    answers: { 200: { description: 'With its result once it has ended.', json: status } },
    handle: async ({ params, principal }) =>
      json(200, statusOf(commandOf(hostedFor(house, params.sandbox_id, principal), params.exec_id))),
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/commands/{exec_id}/events',
    tag,
    summary: 'Follow the output of a command.',
    description: 'From the beginning, or behind `Last-Event-ID`: every byte once.',
    scope: 'read',
    params: commandParams,
    headers: { 'Last-Event-ID': 'The id of the last event that was read.' },
    answers: {
      200: { description: 'Until it has ended.', events: event },
      204: { description: 'The last event was read already.' },
    },
    errors: ['INVALID_CURSOR'],
    handle: async ({ params, principal, header }) => {
      const command = commandOf(hostedFor(house, params.sandbox_id, principal), params.exec_id)
      const after = positionOf(header('last-event-id'))
      return after === 'end' ? empty() : events((signal) => eventsOf(command, after, signal))
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/sandboxes/{sandbox_id}/commands/{exec_id}',
    tag,
    audit: 'command.cancel',
    summary: 'End a command and all that it started.',
    scope: 'exec',
    whileDraining: true,
    params: commandParams,
    answers: { 200: { description: 'It has ended.', json: status } },
    handle: async ({ params, principal }) => {
      const command = commandOf(hostedFor(house, params.sandbox_id, principal), params.exec_id)
      command.cancel()
      await command.settled
      return json(200, statusOf(command))
    },
  }),
]

/** What could not be run at all tells why, whenever it is asked for. */
export function knownCommand(found: HostedCommand | undefined): HostedCommand {
  if (found === undefined) throw notFound('command')
  if (found.failure !== undefined) throw found.failure
  return found
}

const commandOf = ({ commands }: HostedSandbox, execId: string): HostedCommand => knownCommand(commands.find(execId))

interface Asked {
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly secrets?: readonly SecretUse[] | undefined
  readonly timeoutMs?: number | undefined
  readonly stdin?: string | undefined
  readonly stdinBase64?: string | undefined
}

function optionsOf({ cwd, env, secrets, timeoutMs, stdin, stdinBase64 }: Asked): RunOptions {
  if (stdin !== undefined && stdinBase64 !== undefined)
    throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: both stdin and stdinBase64 were given')
  const input = stdinBase64 === undefined ? stdin : Buffer.from(stdinBase64, 'base64')
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(secrets === undefined ? {} : { secrets }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(input === undefined ? {} : { stdin: input }),
  }
}

/** What cannot be run at all is refused at once, and not by the first event. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export async function* eventsOf(
  command: HostedCommand,
  after: JournalPosition,
  signal: AbortSignal,
  tell: (done: ExecResult) => unknown = endedOf,
): AsyncGenerator<StreamedEvent> {
  for await (const each of command.follow(after, signal)) {
    if (each.kind === 'ended') yield { id: `${idOf(each.at)}.end`, event: 'ended', data: tell(each.result) }
    else yield { id: idOf(each.part.next), event: each.part.stream, data: shown(each.part.bytes) }
  }
}

function endedOf(done: ExecResult) {
  const { stdout: _, stderr: _error, ...rest } = execOutput(done)
  return rest
}

const idOf = ({ stdout, stderr }: JournalPosition): string => `${stdout}.${stderr}`

export function positionOf(header: string | undefined): JournalPosition | 'end' {
  if (header === undefined) return { stdout: 0, stderr: 0 }
  const [, stdout, stderr, isEnd] = /^(\d{1,15})\.(\d{1,15})(\.end)?$/.exec(header) ?? []
  if (isEnd !== undefined) return 'end'
  if (stdout === undefined)
    throw new GloveboxError('INVALID_CURSOR', 'Cannot go on from there: Last-Event-ID is no id of this stream')
  return { stdout: Number(stdout), stderr: Number(stderr) }
}

function shown(bytes: Uint8Array): { readonly text: string } | { readonly base64: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }
  }
}
