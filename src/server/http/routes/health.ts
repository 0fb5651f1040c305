// Is the server there, does it take work, and what does it count. Only the first two need no token: whoever asks for them is
// an orchestrator without one, and they say nothing but yes or no.
import { z } from 'zod'
import type { Store } from '../../../contract/store.ts'
import { isFirstThere, type ServedBackends } from '../../../runtime/server/backends.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { json, text } from '../answer.ts'
import type { Drain } from '../drain.ts'
import type { Metrics } from '../metrics.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'

export interface HealthParts {
  readonly drain: Drain
  readonly metrics: Metrics
  readonly store: Pick<Store, 'health'>
  readonly backends: Pick<ServedBackends, 'get'>
  readonly document: () => OpenApiDocument
  readonly house: SandboxHouse
}

const alive = named('Alive', z.strictObject({ status: z.literal('ok') }))
const readiness = named('Readiness', z.strictObject({ status: z.enum(['ready', 'draining', 'degraded']) }))
const count = z.int().nonnegative()
export const poolStats = named(
  'PoolStats',
  z.strictObject({
    active: count,
    warm: count,
    used: count.describe('Places taken: sandboxes, and those in making.'),
    replicas: count,
    waiting: count.describe('Acquires that wait for a place.'),
    acquired: z.record(z.string(), count).describe('By where they were found.'),
    ended: z.record(z.string(), count).describe('By why.'),
    replaced: count.describe('Found dead when they were borrowed.'),
    lost: count.describe('Leases that passed to another process.'),
    ahead: z
      .strictObject({
        ready: count.describe('Claimed by nobody yet.'),
        wanted: count,
        failed: count.describe('Could not be made.'),
        why: z.string().nullable().describe('Why the last one could not be made; null while all goes well.'),
      })
      .describe('What is made ahead of its use.'),
  }),
)
const anyObject = named('OpenApiDocument', z.looseObject({}))
const metricsType = 'text/plain'

export const healthRoutes: RouteModule<HealthParts> = (parts) => routesOf(parts, lookTogether(parts))

const routesOf = ({ drain, metrics, document, house }: HealthParts, isWell: () => Promise<boolean>) => [
  defineRoute({
    method: 'get',
    path: '/healthz',
    tag: 'health',
    summary: 'Is the process alive?',
    scope: 'open',
    answers: { 200: { description: 'Yes.', json: alive } },
    handle: async () => json(200, { status: 'ok' }),
  }),
  defineRoute({
    method: 'get',
    path: '/readyz',
    tag: 'health',
    summary: 'Does it take work?',
    scope: 'open',
    answers: {
      200: { description: 'Yes.', json: readiness },
      503: {
        description:
          'No: it is about to stop, its database does not answer, or its backend is not there or does not answer.',
        json: readiness,
      },
    },
    handle: async () => {
      if (drain.isDraining) return json(503, { status: 'draining' })
      return (await isWell()) ? json(200, { status: 'ready' }) : json(503, { status: 'degraded' })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/metrics',
    tag: 'health',
    summary: 'Counters and gauges for Prometheus.',
    description: 'Of the whole server, whatever the project.',
    scope: 'read',
    answers: { 200: { description: "Prometheus' text format.", text: metricsType } },
    handle: async () => text(await metrics.text(), { 'content-type': metrics.type }),
  }),
  defineRoute({
    method: 'get',
    path: '/pool',
    tag: 'health',
    summary: 'What the pool of sandboxes has, and has done.',
    description: 'Of the whole server, whatever the project.',
    scope: 'read',
    answers: { 200: { description: 'Since the start.', json: poolStats } },
    handle: async () => json(200, { ...house.stats(), ahead: house.ahead }),
  }),
  defineRoute({
    method: 'get',
    path: '/openapi.json',
    tag: 'health',
    summary: 'This document.',
    scope: 'read',
    answers: { 200: { description: 'OpenAPI 3.1.', json: anyObject } },
    handle: async () => json(200, document()),
  }),
]

// SECURITY: strangers may ask, as often as they like, and each look asks the database.
// src/server/http/routes/health.test.ts: "however many ask at once, there is one look at a time"
function lookTogether({ store, backends }: Pick<HealthParts, 'store' | 'backends'>): () => Promise<boolean> {
  const look = async (): Promise<boolean> => {
    const [hasStore, hasBackend] = await Promise.all([
      store.health().then(
        () => true,
        () => false,
      ),
      isFirstThere(backends),
    ])
    return hasStore && hasBackend
  }
  let looking: Promise<boolean> | undefined
  return () => (looking ??= look().finally(() => (looking = undefined)))
}
