// Terminals of a sandbox: their output as events, their input, their size, their screen; and all of that over one WebSocket.
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { GloveboxError } from '../../../errors/error.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { empty, events, json, type StreamedEvent } from '../answer.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { attachTerminal } from '../terminal-socket.ts'
import type { Tickets } from '../tickets.ts'
import { requireTerminal, shellFor, shellParams, sizeSchema } from './shell-words.ts'
import type { Terminal } from '../../../contract/shell.ts'
import { endedSchema } from '../../../actions/schemas.ts'

export interface TerminalParts {
  readonly house: SandboxHouse
  readonly tickets: Tickets
}

const tag = 'shells'
const mostInputBytes = 64 * 1024

const offset = z.int().nonnegative()
const screen = named(
  'TerminalScreen',
  z.strictObject({
    offset: offset.describe('Where reading goes on.'),
    size: sizeSchema,
    base64: z.base64().describe('Draws the screen on an empty terminal of that size.'),
  }),
)
const event = named(
  'TerminalEvent',
  z
    .union([z.strictObject({ offset, base64: z.base64() }), z.strictObject({ ended: endedSchema, exitCode: z.int() })])
    .describe(
      '`output`: bytes from the offset on. `screen`: what draws it as it stood at the offset. `ended`: how it ended.',
    ),
)
const input = named(
  'TerminalInputRequest',
  z
    .strictObject({
      text: z.string().max(mostInputBytes).optional(),
      base64: z
        .base64()
        .max(2 * mostInputBytes)
        .optional(),
    })
    .refine(({ text, base64 }) => (text === undefined) !== (base64 === undefined), 'needs either text or base64'),
)
const ticket = named('Ticket', z.strictObject({ ticket: z.string(), expiresAt: z.string() }))
const attachQuery = z.strictObject({
  from: z.coerce.number().int().nonnegative().optional().describe('An offset. Default: the screen as it stands.'),
})

const ending = z.strictObject({ ended: endedSchema, exitCode: z.int() })
const end = named('TerminalEnd', z.strictObject({ end: ending.nullable() }))
const endQuery = z.strictObject({
  wait_ms: z.coerce.number().int().min(0).max(60_000).optional().describe('How long at most; default: 0.'),
})

const attachPath = '/sandboxes/{sandbox_id}/shells/{shell_id}/attach'

export const terminalRoutes: RouteModule<TerminalParts> = ({ house, tickets }) => [
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/events',
    tag,
    summary: 'Follow the output of a terminal.',
    description:
      'From its first byte, or behind `Last-Event-ID`. What is not kept any more is replaced by the screen as it stands.',
    scope: 'read',
    params: shellParams,
    headers: { 'Last-Event-ID': 'The id of the last event that was read.' },
    answers: {
      200: { description: 'Until it has ended.', events: event },
      204: { description: 'The last event was read already.' },
    },
    errors: ['INVALID_CURSOR'],
    handle: async ({ params, principal, header }) => {
      const terminal = requireTerminal(await shellFor(house, params, principal))
      const from = offsetOf(header('last-event-id'))
      return from === 'end' ? empty() : events((signal) => eventsOf(terminal, from, signal))
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/end',
    tag,
    summary: 'Wait for the end of the program on a terminal.',
    scope: 'read',
    params: shellParams,
    query: endQuery,
    answers: { 200: { description: 'How it ended; null when the time is over.', json: end } },
    handle: async ({ params, principal, query, signal }) => {
      const terminal = requireTerminal(await shellFor(house, params, principal))
      return json(200, { end: await within(terminal.ended, query.wait_ms ?? 0, signal) })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/screen',
    tag,
    summary: 'The screen of a terminal as it stands.',
    scope: 'read',
    params: shellParams,
    answers: { 200: { description: 'The screen.', json: screen } },
    handle: async ({ params, principal }) => {
      const { bytes, ...rest } = await requireTerminal(await shellFor(house, params, principal)).screen()
      return json(200, { ...rest, base64: Buffer.from(bytes).toString('base64') })
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/input',
    tag,
    audit: 'shell.input',
    isQuick: true,
    summary: 'Type into a terminal.',
    scope: 'exec',
    params: shellParams,
    body: input,
    answers: { 204: { description: 'The terminal has taken it.' } },
    errors: ['BUSY', 'SHELL_CLOSED'],
    handle: async ({ params, principal, body }) => {
      const { text, base64 } = body
      await requireTerminal(await shellFor(house, params, principal)).write(text ?? Buffer.from(base64 ?? '', 'base64'))
      return empty()
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/resize',
    tag,
    audit: 'shell.resize',
    isQuick: true,
    summary: 'Give a terminal another size.',
    scope: 'exec',
    params: shellParams,
    body: named('TerminalSizeRequest', sizeSchema),
    answers: { 204: { description: 'The program was told.' } },
    handle: async ({ params, principal, body }) => {
      await requireTerminal(await shellFor(house, params, principal)).resize(body)
      return empty()
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/shells/{shell_id}/tickets',
    tag,
    audit: 'shell.ticket',
    isQuick: true,
    summary: 'A ticket for the WebSocket of a terminal.',
    description:
      'For `GET …/attach`, the WebSocket of a terminal, and a page that can send no token with one. It is good once, for 30 seconds, for this terminal, as a protocol: `glovebox.ticket.` and the ticket, beside `glovebox.terminal.v1`. The frames are described in docs/shells.md.',
    scope: 'exec',
    params: shellParams,
    answers: { 201: { description: 'The ticket.', json: ticket } },
    handle: async ({ params, principal }) => {
      requireTerminal(await shellFor(house, params, principal))
      const path = attachPath.replace('{sandbox_id}', params.sandbox_id).replace('{shell_id}', params.shell_id)
      return json(201, tickets.issue(principal, path))
    },
  }),
  defineRoute({
    method: 'get',
    path: attachPath,
    tag,
    audit: 'shell.attach',
    summary: 'A terminal over a WebSocket.',
    description:
      'With the protocol `glovebox.terminal.v1`, an Origin, and a token or a ticket. Frames are described in docs/shells.md.',
    scope: 'exec',
    params: shellParams,
    query: attachQuery,
    answers: { 101: { description: 'The WebSocket.' } },
    errors: ['ORIGIN_NOT_ALLOWED', 'UPGRADE_REQUIRED'],
    handle: async ({ params, principal }) => {
      requireTerminal(await shellFor(house, params, principal))
      throw new GloveboxError('UPGRADE_REQUIRED', 'Cannot answer: this is the path of a WebSocket', {
        hint: 'Ask for an upgrade; or follow the events, and post the input.',
      })
    },
    attach: async ({ params, principal, query }) =>
      attachTerminal(requireTerminal(await shellFor(house, params, principal)), {
        from: query.from,
        onHeartbeat: () => void house.find(params.sandbox_id),
      }),
  }),
]

async function within<Value>(settled: Promise<Value>, ms: number, signal: AbortSignal): Promise<Value | null> {
  const over = new AbortController()
  const late = delay(ms, null, { signal: AbortSignal.any([signal, over.signal]), ref: false }).catch(() => null)
  try {
    return await Promise.race([settled, late])
  } finally {
    over.abort()
  }
}

async function* eventsOf(terminal: Terminal, from: number, signal: AbortSignal): AsyncGenerator<StreamedEvent> {
  let at = from
  for await (const { offset: begins, bytes, redraws } of terminal.read({ from, signal })) {
    at = redraws === true ? begins : begins + bytes.length
    const base64 = Buffer.from(bytes).toString('base64')
    yield { id: String(at), event: redraws === true ? 'screen' : 'output', data: { offset: begins, base64 } }
  }
  if (!signal.aborted) yield { id: `${at}.end`, event: 'ended', data: await terminal.ended }
}

function offsetOf(header: string | undefined): number | 'end' {
  if (header === undefined || header === '') return 0
  const [, at, isEnd] = /^(\d{1,15})(\.end)?$/.exec(header) ?? []
  if (isEnd !== undefined) return 'end'
  if (at === undefined)
    throw new GloveboxError('INVALID_CURSOR', 'Cannot go on from there: Last-Event-ID is no id of this stream')
  return Number(at)
}
