// A running server: what runtime opened, behind the HTTP face, on a socket. Starts whole or not at all, and ends as `drain`
// says: nothing that was accepted is cut off before its grace is over.
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { networkInterfaces } from 'node:os'
import type { OpenedServer } from '../../runtime/server/open.ts'
import { createApp } from './app.ts'
import { createAuthenticator } from './auth.ts'
import { createCursors } from './cursor.ts'
import { openDeliveries } from './deliveries.ts'
import { createDrain, type Running } from './drain.ts'
import { createGate, type Entry } from './gate.ts'
import { createHold } from './hold.ts'
import { createBodyRoom } from './body-room.ts'
import { createLanes } from './lanes.ts'
import { createLeftovers } from './leftovers.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { listen, type Place } from './listen.ts'
import type { Log } from './logs.ts'
import { createMetrics } from './metrics.ts'
import { openApiOf, type OpenApiDocument } from './openapi.ts'
import { watchPool } from './pool-metrics.ts'
import { problemOf } from './problem.ts'
import { noRoute, openRefusals } from './refusals.ts'
import { respondProblem } from './respond.ts'
import { newRequestId } from './request-id.ts'
import { createRounds } from './rounds.ts'
import { allRoutes } from './routes/all.ts'
import { createPresence } from './presence.ts'
import { createThrottle } from './throttle.ts'
import { createTickets } from './tickets.ts'
import { createUpgrader } from './upgrade.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { ErrorCode } from '../../errors/table.ts'

export interface ServeOptions {
  readonly opened: OpenedServer
  readonly place: Place
  readonly log: Log
  readonly version: string
  /** Further values of Host, without or with a port. */
  readonly allowHosts?: readonly string[]
  readonly allowOrigins?: readonly string[]
  readonly limits?: Partial<Limits>
  readonly graceMs: number
}

export interface RunningServer {
  /** Of the first address; `unix:` and the path for a socket file. */
  readonly url: string
  readonly document: OpenApiDocument
  /** Asked again, it hurries. Settles when everything is closed. */
  stop(): Promise<void>
}

export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { opened, place, log } = options
  const limits = { ...defaultLimits, ...options.limits }
  const presence = createPresence()
  const hold = createHold()
  const drain = createDrain()
  const metrics = createMetrics()
  const refusals = openRefusals(opened.audit, (error) =>
    log.error({ error: String(error) }, 'a refusal was not recorded'),
  )
  const hosts = new Set<string>()
  const lister = { cursors: createCursors(opened.key), pageRows: limits.pageRows }
  const tickets = createTickets()
  const routes = allRoutes({ ...opened, tickets, drain, metrics, lister, document: () => document })
  const document = openApiOf(routes, options.version)
  metrics.gauge('glovebox_sandboxes', 'Sandboxes that live.', () => opened.house.size)
  watchPool(metrics, opened.house)
  metrics.gauge('glovebox_commands_running', 'Commands at work in sandboxes.', () => opened.house.busy)
  metrics.gauge('glovebox_runs_running', 'Runs at work.', () => opened.runs.running)
  metrics.gauge('glovebox_execs_running', 'Execs at work.', () => opened.execs.execs.running)
  const parts = {
    routes,
    authenticate: createAuthenticator(opened.desk),
    rules: { hosts, origins: new Set(options.allowOrigins), limits },
    limits,
    throttle: createThrottle(limits, presence, hold),
    audit: opened.audit,
    refusals,
    log,
    metrics,
    drain,
    deliveries: openDeliveries(),
    rounds: createRounds(),
    lanes: createLanes(presence, hold),
    presence,
    hold,
    leftovers: createLeftovers(),
    bodies: createBodyRoom(limits),
  }
  const app = createApp(parts)
  const entries = new WeakMap<object, Entry>()
  /** Whose address is read, before anything else has its turn. */
  let comingIn: Entry | undefined
  const route = getRequestListener(
    (request, env) => {
      const entry = entries.get(env.incoming)
      entries.delete(env.incoming)
      return app.fetch(request, { ...(env as HttpBindings), entry })
    },
    {
      overrideGlobalObjects: false,
      // What is left of a body is our own concern.
      autoCleanupIncoming: false,
      errorHandler: () => {
        const requestId = comingIn?.requestId ?? newRequestId()
        return respondProblem(problemOf(malformed(), requestId), { 'x-request-id': requestId })
      },
    },
  )
  const note = (code: ErrorCode, requestId: string, actor = 'nobody'): void =>
    refusals.note({ code, actor, route: noRoute, requestId })
  const onRequest = createGate(parts, (entry, incoming, outgoing) => {
    entries.set(incoming, entry)
    comingIn = entry
    const routed = Promise.resolve(route(incoming, outgoing))
    comingIn = undefined
    void routed.finally(() => {
      // One whose address is malformed never comes to the app.
      if (!entries.delete(incoming)) return
      entry.leave()
      note(malformed().code, entry.requestId, entry.principal?.actor)
    })
  })
  const onUpgrade = createUpgrader({ ...parts, tickets, onRequest })
  const listening = await listen(
    place,
    {
      onRequest,
      onUpgrade,
      onUnreadable: note,
      isAnybodyThere: () => presence.isAnybodyThere(),
      onSentAway: (connections) => log.warn({ connections }, 'connections were sent away: too few descriptors'),
      deliveries: parts.deliveries,
      onStalled: () => log.warn({}, 'an answer was cut off: its reader takes nothing'),
      onFault: (error) => log.error({ error: String(error) }, 'the listening socket has a fault'),
    },
    limits,
  )
  for (const host of hostsOf(place, listening.port, options.allowHosts ?? [])) hosts.add(host)

  const { execs } = opened.execs
  const running: readonly Running[] = [
    { name: 'runs', count: () => opened.runs.running, stop: () => opened.runs.stop() },
    {
      name: 'execs',
      count: () => execs.running,
      hold: () => execs.hold(),
      stop: () => execs.drain(0),
      hurry: () => execs.hurry(),
    },
    { name: 'sandboxes', count: () => opened.house.atWork, stop: () => opened.house.close() },
  ]
  const stopAll = async (): Promise<void> => {
    log.info({ graceMs: options.graceMs }, 'draining')
    await drain.begin({ graceMs: options.graceMs, running })
    const closed = listening.close()
    const timer = setTimeout(() => listening.closeNow(), lastMs)
    await closed
    clearTimeout(timer)
    await refusals.flush()
    await opened.close()
    log.info({}, 'stopped')
  }
  let stopping: Promise<void> | undefined
  return {
    url: 'socket' in place ? `unix:${place.socket}` : urlOf(place.host, listening.port ?? 0),
    document,
    stop: () => {
      if (stopping !== undefined) drain.hurry()
      return (stopping ??= stopAll())
    },
  }
}

/** Answers on their way are given so long once everything else has ended. */
const lastMs = 2000

const malformed = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot read the request: its address is malformed')

const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::'
const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address)

function urlOf(host: string, port: number): string {
  return `http://${isEverywhere(host) ? 'localhost' : bracketed(host)}:${port}`
}

/** Names of loopback, the address itself (or, on all of them, each of this machine's), and what the operator adds. */
export function hostsOf(place: Place, port: number | undefined, allowed: readonly string[]): readonly string[] {
  const own = ['localhost', '127.0.0.1', '[::1]']
  if ('socket' in place) return [...own, ...allowed].map((host) => host.toLowerCase())
  const addresses = isEverywhere(place.host)
    ? Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address))
    : [place.host]
  const hosts = [...own, ...addresses.map(bracketed), ...allowed].map((host) => host.toLowerCase())
  return hosts.flatMap((host) =>
    /:\d+$/.test(host) ? [host] : port === 80 ? [host, `${host}:80`] : [`${host}:${port}`],
  )
}
