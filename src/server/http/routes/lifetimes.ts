// The life of a sandbox beside its use: parked, renewed, paused, resumed, forked, and kept as a snapshot that others begin with.
import { z } from 'zod'
import { forkMethods } from '../../../contract/fork.ts'
import { newSandboxId } from '../../../contract/ids.ts'
import type { SnapshotRecord } from '../../../runtime/pool/snapshots.ts'
import type { Once } from '../../../runtime/server/idempotency.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import type { SnapshotHouse } from '../../../runtime/server/snapshots.ts'
import { onceRequest } from './once-request.ts'
import { projectSchema } from '../../../contract/token.ts'
import { empty, json } from '../answer.ts'
import { answerPage, pageQuery, type Lister } from '../cursor.ts'
import { requireVisible, visibleProject } from '../principal.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import {
  detailOf,
  hostedFor,
  sandboxDetail,
  sandboxIdSchema,
  sandboxParams,
  sandboxSummary,
  summaryOf,
} from './sandbox-words.ts'

export interface LifetimeParts {
  readonly house: SandboxHouse
  readonly snapshots: SnapshotHouse
  readonly once: Once
  readonly lister: Lister
}

const tag = 'sandboxes'
const mostForks = 100
const ofManyUnderOneKey = ['IDEMPOTENCY_MISMATCH', 'CONFLICT'] as const

const usage = named(
  'SandboxUsage',
  z.strictObject({
    memoryBytes: z.number().nonnegative().nullable().describe('Null: nothing is open, or `notCounted` says why.'),
    memoryLimitBytes: z.number().nonnegative(),
    cpuMs: z.number().nonnegative().nullable().describe('Since it was opened.'),
    cpuCores: z.number().nonnegative(),
    pids: z.number().nonnegative().nullable(),
    pidsLimit: z.number().nonnegative(),
    diskBytes: z.number().nonnegative(),
    diskEntries: z.number().nonnegative(),
    diskIsMore: z.boolean().describe('There is more than was counted.'),
    notCounted: z
      .array(z.strictObject({ what: z.enum(['memoryBytes', 'pids', 'cpuMs']), why: z.string() }))
      .describe('What the backend of an open sandbox cannot tell.'),
  }),
)
const renewal = named('RenewRequest', z.strictObject({ lifeMs: z.int().positive() }))
const forkRequest = named(
  'ForkRequest',
  z.strictObject({
    count: z.int().min(1).max(mostForks).optional().describe('Default: 1.'),
    lifeMs: z.int().positive().optional().describe('Default: as long as the other one was given.'),
  }),
)
const forks = named('Forks', z.strictObject({ items: z.array(sandboxDetail.schema) }))

export const snapshotIdSchema = z.string().regex(/^snap_[0-9a-f]{32}$/, 'must be an id of a snapshot')
const snapshotParams = z.strictObject({ snapshot_id: snapshotIdSchema })
const snapshotRequest = named('SnapshotRequest', z.strictObject({ name: z.string().min(1).max(200).optional() }))
const snapshotShape = named(
  'Snapshot',
  z.strictObject({
    id: snapshotIdSchema,
    project: z.string(),
    name: z.string().nullable(),
    sandboxId: sandboxIdSchema,
    createdAt: z.string(),
    by: z.enum(forkMethods).describe('`overlay` and `reflink` copy nothing; `copy` has copied every byte.'),
  }),
)
const snapshotPage = named(
  'SnapshotPage',
  z.strictObject({ items: z.array(snapshotShape.schema), next_cursor: z.string().nullable() }),
)
const shown = ({ id, project, name, sandbox_id: sandboxId, created_at: createdAt, by }: SnapshotRecord) => ({
  id,
  project,
  name,
  sandboxId,
  createdAt,
  by,
})

export const lifetimeRoutes: RouteModule<LifetimeParts> = (parts) => [
  ...parkingRoutes(parts),
  ...usageRoutes(parts),
  ...forkRoutes(parts),
  ...snapshotRoutes(parts),
]

const parkingRoutes: RouteModule<LifetimeParts> = ({ house }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/release',
    tag,
    audit: 'sandbox.release',
    summary: 'Park a sandbox that is not needed now.',
    description: 'It stays as it is until its place is needed; the next use takes it back.',
    scope: 'exec',
    whileDraining: true,
    params: sandboxParams,
    answers: { 200: { description: 'It is parked, or will be when what runs has ended.', json: sandboxSummary } },
    handle: async ({ params, principal }) => {
      const hosted = hostedFor(house, params.sandbox_id, principal)
      await house.release(hosted.id)
      return json(200, summaryOf(hosted))
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/renew',
    tag,
    audit: 'sandbox.renew',
    summary: 'Move the end of a sandbox.',
    description:
      'It ends `lifeMs` from now, be that later than before or sooner. Not beyond its age, which is counted from its making: such a life is refused, and `facts.until` says until when it may live.',
    scope: 'exec',
    params: sandboxParams,
    body: renewal,
    answers: { 200: { description: 'With its new end.', json: sandboxSummary } },
    errors: ['POLICY_ESCALATION', 'BUSY'],
    handle: async ({ params, body, principal }) => {
      const hosted = hostedFor(house, params.sandbox_id, principal)
      await house.renew(hosted.id, body.lifeMs)
      return json(200, summaryOf(hosted))
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/pause',
    tag,
    audit: 'sandbox.pause',
    summary: 'Keep the files of a sandbox, and give back all else.',
    description:
      'What runs in it is ended: memory is not kept. Any use resumes it, with a new life of the same length. One that is paused stays so for 30 days at most.',
    scope: 'exec',
    whileDraining: true,
    params: sandboxParams,
    answers: { 200: { description: 'It is paused.', json: sandboxSummary } },
    errors: ['BUSY'],
    handle: async ({ params, principal }) => {
      const hosted = hostedFor(house, params.sandbox_id, principal)
      await house.pause(hosted.id)
      return json(200, summaryOf(hosted))
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/resume',
    tag,
    audit: 'sandbox.resume',
    summary: 'Open a sandbox that rests.',
    scope: 'exec',
    params: sandboxParams,
    answers: { 200: { description: 'It is ready.', json: sandboxDetail } },
    errors: ['BUSY', 'CAPACITY_EXCEEDED', 'POLICY_ESCALATION'],
    handle: async ({ params, principal }) => {
      const hosted = hostedFor(house, params.sandbox_id, principal)
      await house.resume(hosted.id)
      return json(200, detailOf(hosted))
    },
  }),
]

const usageRoutes: RouteModule<LifetimeParts> = ({ house }) => [
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/usage',
    tag,
    summary: 'What a sandbox costs the host now.',
    description: 'Asking neither opens it nor keeps it open.',
    scope: 'read',
    params: sandboxParams,
    answers: { 200: { description: 'Beside its limits.', json: usage } },
    handle: async ({ params, principal }) => {
      const { id, sandbox } = hostedFor(house, params.sandbox_id, principal)
      const { policy } = sandbox.describe()
      const limit = (field: string): number => Number(policy.find((each) => each.field === field)?.value ?? 0)
      const { memoryBytes = null, cpuMs = null, pids = null, disk, notCounted = [] } = await house.usage(id)
      return json(200, {
        memoryBytes,
        memoryLimitBytes: limit('memoryMb') * 1024 * 1024,
        cpuMs,
        cpuCores: limit('cpuCores'),
        pids,
        pidsLimit: limit('pids'),
        diskBytes: disk.bytes,
        diskEntries: disk.entries,
        diskIsMore: disk.truncated,
        notCounted,
      })
    },
  }),
]

const forkRoutes: RouteModule<LifetimeParts> = ({ house, once }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/fork',
    tag,
    audit: 'sandbox.fork',
    summary: 'Make sandboxes that begin with the files of this one.',
    description: 'With its policy and environment. Nothing that runs is carried over, so nothing may run.',
    scope: 'exec',
    params: sandboxParams,
    body: forkRequest,
    headers: { 'Idempotency-Key': 'So many sandboxes, however often it is sent.' },
    answers: { 201: { description: 'All of them are ready.', json: forks } },
    errors: ['BUSY', 'QUOTA_EXCEEDED', 'CAPACITY_EXCEEDED', 'POLICY_ESCALATION', 'NO_SPACE', ...ofManyUnderOneKey],
    handle: async (call) => {
      const { params, body, principal } = call
      const { id, project } = hostedFor(house, params.sandbox_id, principal)
      const asked = { count: body.count ?? 1, lifeMs: body.lifeMs, tokenId: principal.tokenId }
      const made = await once.perform(onceRequest(call, project, newSandboxId), async ({ subject: seed }) =>
        (await house.fork(id, { ...asked, seed })).map(detailOf),
      )
      return json(201, { items: made })
    },
  }),
]

const snapshotRoutes: RouteModule<LifetimeParts> = ({ house, snapshots, once, lister }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/snapshots',
    tag: 'snapshots',
    audit: 'snapshot.create',
    summary: 'Keep the files of a sandbox as they are.',
    description: 'POST /sandboxes with `snapshot` begins with them. Nothing may run in the sandbox meanwhile.',
    scope: 'exec',
    params: sandboxParams,
    body: snapshotRequest,
    headers: { 'Idempotency-Key': 'One snapshot, however often it is sent.' },
    answers: { 201: { description: 'It is kept until it is deleted.', json: snapshotShape } },
    errors: ['BUSY', 'QUOTA_EXCEEDED', 'NO_SPACE', 'IDEMPOTENCY_MISMATCH'],
    handle: async (call) => {
      const { params, body, principal } = call
      const { id, project } = hostedFor(house, params.sandbox_id, principal)
      const asOnce = onceRequest(call, project, () => snapshots.reserve())
      const take = (snapshotId: string) =>
        snapshots.take(id, { name: body.name ?? null, tokenId: principal.tokenId, snapshotId })
      const made = await once.perform(asOnce, async ({ subject }) => shown(await take(subject)))
      return json(201, made, { location: `/snapshots/${made.id}` })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/snapshots',
    tag: 'snapshots',
    summary: 'List snapshots.',
    scope: 'read',
    query: z.strictObject({
      ...pageQuery,
      project: projectSchema.optional(),
      sandbox_id: sandboxIdSchema.optional(),
      name: z.string().min(1).max(200).optional(),
    }),
    answers: { 200: { description: 'Newest first.', json: snapshotPage } },
    errors: ['INVALID_CURSOR'],
    handle: async ({ query, principal }) => {
      const project = visibleProject(principal, query.project)
      const filter = { project, sandboxId: query.sandbox_id, name: query.name }
      const asked = { list: `snapshots ${JSON.stringify(filter)}`, principal, query }
      return json(200, await answerPage(lister, asked, (at) => snapshots.list(filter, at), shown))
    },
  }),
  defineRoute({
    method: 'get',
    path: '/snapshots/{snapshot_id}',
    tag: 'snapshots',
    summary: 'One snapshot.',
    scope: 'read',
    params: snapshotParams,
    answers: { 200: { description: 'The snapshot.', json: snapshotShape } },
    handle: async ({ params, principal }) =>
      json(200, shown(requireVisible(principal, snapshots.find(params.snapshot_id), 'snapshot'))),
  }),
  defineRoute({
    method: 'delete',
    path: '/snapshots/{snapshot_id}',
    tag: 'snapshots',
    audit: 'snapshot.delete',
    summary: 'Delete a snapshot.',
    description: 'Sandboxes that began with it go on; its bytes go with the last of them.',
    scope: 'exec',
    whileDraining: true,
    params: snapshotParams,
    answers: { 204: { description: 'It is gone.' } },
    handle: async ({ params, principal }) => {
      await snapshots.delete(requireVisible(principal, snapshots.find(params.snapshot_id), 'snapshot'))
      return empty()
    },
  }),
]
