// The life of a sandbox beside its use: parked, renewed, paused, resumed, forked, and kept as a snapshot that others begin with.
import { newSandboxId } from '../../../contract/ids.ts'
import type { SnapshotRecord } from '../../../runtime/pool/snapshots.ts'
import type { Once } from '../../../runtime/server/idempotency.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import type { SnapshotHouse } from '../../../runtime/server/snapshots.ts'
import { empty, json } from '../answer.ts'
import { answerPage, type Lister } from '../cursor.ts'
import { requireVisible, visibleProject } from '../principal.ts'
import { defineRoute, type RouteModule } from '../route.ts'
import {
  forkRequest,
  forks,
  renewRequest,
  sandboxUsage,
  snapshotPage,
  snapshotParams,
  snapshotQuery,
  snapshotRequest,
  snapshotShape,
} from './lifetime-words.ts'
import { keysKept, onceRequest } from './once-request.ts'
import { detailOf, hostedFor, sandboxDetail, sandboxParams, sandboxSummary, summaryOf } from './sandbox-words.ts'

export interface LifetimeParts {
  readonly house: SandboxHouse
  readonly snapshots: SnapshotHouse
  readonly once: Once
  readonly lister: Lister
}

const tag = 'sandboxes'
const ofManyUnderOneKey = ['IDEMPOTENCY_MISMATCH', 'CONFLICT'] as const

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
    body: renewRequest,
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
    answers: { 200: { description: 'Beside its limits.', json: sandboxUsage } },
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
    headers: { 'Idempotency-Key': `So many sandboxes, however often it is sent. ${keysKept}` },
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
    headers: { 'Idempotency-Key': `One snapshot, however often it is sent. ${keysKept}` },
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
    query: snapshotQuery,
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
