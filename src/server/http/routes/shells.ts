// Persistent shells of a sandbox: opened, listed, given commands, waited for, closed.
import { z } from 'zod'
import type { ExecResult } from '../../../contract/exec.ts'
import type { ShellOpenOptions } from '../../../contract/shell.ts'
import { customarySize } from '../../../contract/terminal.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import type { HostedCommand } from '../../../runtime/server/commands.ts'
import { asShellResult, type NumberedCommands } from '../../../runtime/server/shell-commands.ts'
import { empty, events, json } from '../answer.ts'
import type { Principal } from '../principal.ts'
import { asksForEvents } from '../request.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { eventsOf, knownCommand, positionOf } from './commands.ts'
import { hostedFor, sandboxParams } from './sandbox-words.ts'
import { environmentSchema } from './sandboxes.ts'
import {
  endOf,
  requireCommands,
  resultOf,
  shellCommandEvent,
  shellFor,
  shellInfo,
  shellParams,
  shellResult,
  shellWaited,
  sizeSchema,
  waitedOf,
} from './shell-words.ts'

export interface ShellParts {
  readonly house: SandboxHouse
}

const tag = 'shells'
const longestWaitMs = 60_000

const openRequest = named(
  'ShellRequest',
  z.strictObject({
    cwd: z.string().min(1).max(4096).optional(),
    env: environmentSchema.optional(),
    pty: z
      .union([z.literal(true), sizeSchema])
      .optional()
      .describe('A terminal instead, 80 by 24 unless a size is given.'),
    argv: z.array(z.string().max(131_072)).min(1).max(1000).optional().describe('On a terminal: instead of a shell.'),
  }),
)
const commandRequest = named(
  'ShellCommandRequest',
  z.strictObject({
    command: z.string().min(1).max(131_072),
    timeoutMs: z.int().positive().optional(),
    background: z.boolean().optional().describe('Answer at once; the output is followed by its events.'),
  }),
)
const shellList = named('ShellList', z.strictObject({ items: z.array(shellInfo.schema) }))
const numberSchema = z.coerce.number().int().positive()
const begun = named(
  'ShellCommand',
  z.strictObject({ number: z.int(), status: z.enum(['running', 'ended']), result: shellResult.schema.nullable() }),
)
const commandParams = z.strictObject({ ...shellParams.shape, number: numberSchema })
const waitQuery = z.strictObject({
  number: numberSchema.optional().describe('Which command; default: the last one given.'),
  wait_ms: z.coerce.number().int().min(0).max(longestWaitMs).optional().describe('How long at most; default: 0.'),
})

type CommandOf = z.infer<typeof commandParams>

export const shellRoutes: RouteModule<ShellParts> = ({ house }) => {
  const commandsOf = async (params: z.infer<typeof shellParams>, principal: Principal) => {
    const found = await shellFor(house, params, principal)
    return house.shellCommands.of(found.hosted.sandbox, requireCommands(found))
  }
  const commandFor = async ({ number, ...shell }: CommandOf, principal: Principal) =>
    knownCommand((await commandsOf(shell, principal)).find(number))
  return [...placeRoutes(house), ...commandRoutes({ house, commandsOf, commandFor })]
}

const placeRoutes = (house: SandboxHouse) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/shells',
    tag,
    audit: 'shell.open',
    summary: 'Open a shell.',
    description:
      'What one command leaves behind is there for the next. With `pty` it is a terminal, as a person would have.',
    scope: 'exec',
    params: sandboxParams,
    body: openRequest,
    answers: { 201: { description: 'It is ready.', json: shellInfo } },
    errors: [
      'INVALID_ENV',
      'OUTSIDE_MOUNTS',
      'BOUNDARY_FAILED',
      'SANDBOX_GONE',
      'QUOTA_EXCEEDED',
      'BACKEND_UNAVAILABLE',
    ],
    handle: async ({ params, principal, body }) => {
      const { id, sandbox } = hostedFor(house, params.sandbox_id, principal)
      const { pty, argv, ...rest } = body
      const options = definedOf(rest)
      const shell =
        pty === undefined
          ? await sandbox.shells.open(options)
          : await sandbox.shells.open({
              ...options,
              pty: pty === true ? customarySize : pty,
              ...(argv === undefined ? {} : { argv: argv as [string, ...string[]] }),
            })
      return json(201, await shell.inspect(), { location: `/sandboxes/${id}/shells/${shell.id}` })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells',
    tag,
    summary: 'List the shells that are open.',
    scope: 'read',
    params: sandboxParams,
    answers: { 200: { description: 'In the order of their opening.', json: shellList } },
    handle: async ({ params, principal }) =>
      json(200, { items: await hostedFor(house, params.sandbox_id, principal).sandbox.shells.list() }),
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}',
    tag,
    summary: 'What a shell is doing.',
    scope: 'read',
    params: shellParams,
    answers: { 200: { description: 'The shell.', json: shellInfo } },
    handle: async ({ params, principal }) =>
      json(200, await (await shellFor(house, params, principal)).shell.inspect()),
  }),
  defineRoute({
    method: 'delete',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}',
    tag,
    audit: 'shell.close',
    summary: 'End a shell and everything that was started in it.',
    scope: 'exec',
    whileDraining: true,
    params: shellParams,
    answers: { 204: { description: 'It is gone.' } },
    handle: async ({ params, principal }) => {
      await (await shellFor(house, params, principal)).shell.close()
      return empty()
    },
  }),
]

function definedOf({ cwd, env }: z.infer<typeof openRequest.schema>): ShellOpenOptions {
  return { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) }
}

interface CommandParts extends ShellParts {
  readonly commandsOf: (params: z.infer<typeof shellParams>, principal: Principal) => Promise<NumberedCommands>
  readonly commandFor: (params: CommandOf, principal: Principal) => Promise<HostedCommand>
}

const tellEnd = (done: ExecResult) => endOf(asShellResult(done))

const statusOf = (number: number, { result }: HostedCommand) => ({
  number,
  status: result === undefined ? 'running' : 'ended',
  result: result === undefined ? null : resultOf(asShellResult(result)),
})

const commandRoutes = ({ house, commandsOf, commandFor }: CommandParts) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/commands',
    tag,
    audit: 'shell.exec',
    isQuick: true,
    summary: 'Run a command in a shell.',
    description:
      'Commands of one shell run one after another, in the order of their requests. With `Accept: text/event-stream` the output comes as events; the address for coming back is in Location.',
    scope: 'exec',
    params: shellParams,
    body: commandRequest,
    headers: { Accept: '`application/json` to wait for the result, `text/event-stream` to follow.' },
    answers: {
      200: { description: 'It has ended; or its events.', json: shellResult, events: shellCommandEvent },
      202: { description: 'It runs, or waits for its turn.', json: begun },
    },
    errors: ['POLICY_ESCALATION', 'SANDBOX_GONE', 'SHELL_CLOSED', 'QUOTA_EXCEEDED', 'CANCELLED', 'BOUNDARY_FAILED'],
    handle: async (call) => {
      const { params, principal, body, header, signal } = call
      const options = body.timeoutMs === undefined ? {} : { timeoutMs: body.timeoutMs }
      const follows = asksForEvents(header('accept'))
      const { tokenId } = principal
      const commands = await commandsOf(params, principal)
      if (!follows && body.background !== true)
        return json(200, resultOf(await commands.run(tokenId, body.command, { ...options, signal, taken: call.taken })))
      const { number, command } = await commands.start(tokenId, body.command, options)
      const location = `/sandboxes/${params.sandbox_id}/shells/${params.shell_id}/commands/${number}`
      if (!follows) return json(202, statusOf(number, command), { location })
      return events((gone) => eventsOf(command, { stdout: 0, stderr: 0 }, gone, tellEnd), {
        location: `${location}/events`,
      })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/commands/{number}',
    tag,
    summary: "How a shell's command stands that was followed or runs in the background.",
    scope: 'read',
    params: commandParams,
    answers: { 200: { description: 'With its result once it has ended.', json: begun } },
    handle: async ({ params, principal }) => json(200, statusOf(params.number, await commandFor(params, principal))),
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/commands/{number}/events',
    tag,
    summary: "Follow the output of a shell's command.",
    description: 'From the beginning, or behind `Last-Event-ID`: every byte once.',
    scope: 'read',
    params: commandParams,
    headers: { 'Last-Event-ID': 'The id of the last event that was read.' },
    answers: {
      200: { description: 'Until it has ended.', events: shellCommandEvent },
      204: { description: 'The last event was read already.' },
    },
    errors: ['INVALID_CURSOR'],
    handle: async ({ params, principal, header }) => {
      const command = await commandFor(params, principal)
      const after = positionOf(header('last-event-id'))
      return after === 'end' ? empty() : events((gone) => eventsOf(command, after, gone, tellEnd))
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/commands/{number}',
    tag,
    audit: 'shell.cancel',
    summary: "End a shell's command, and keep the shell.",
    scope: 'exec',
    whileDraining: true,
    params: commandParams,
    answers: { 200: { description: 'It has ended.', json: begun } },
    handle: async ({ params, principal }) => {
      const command = await commandFor(params, principal)
      command.cancel()
      await command.settled
      return json(200, statusOf(params.number, command))
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/wait',
    tag,
    summary: 'Wait for a command of a shell, whoever gave it.',
    scope: 'read',
    params: shellParams,
    query: waitQuery,
    answers: { 200: { description: 'Its result; or how far it is, when the time is over.', json: shellWaited } },
    handle: async ({ params, principal, query, signal }) => {
      const shell = requireCommands(await shellFor(house, params, principal))
      const { number, wait_ms: waitMs = 0 } = query
      const waited = await shell.wait({ waitMs, signal, ...(number === undefined ? {} : { number }) })
      const kept = waited.done ? (await commandsOf(params, principal)).find(waited.result.number) : undefined
      if (kept === undefined) return json(200, waitedOf(waited))
      return json(200, { done: true, result: resultOf(asShellResult(await kept.settled)) })
    },
  }),
]
