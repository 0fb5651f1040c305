// Sandboxes: made, listed, looked at, used through their named actions, and ended.
import { z } from 'zod'
import { findAction } from '../../../actions/registry.ts'
import { policyValuesSchema } from '../../../contract/policy.ts'
import { projectSchema } from '../../../contract/token.ts'
import type { Once } from '../../../runtime/server/idempotency.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { empty, json } from '../answer.ts'
import { answerPage, pageQuery, type Lister } from '../cursor.ts'
import { projectFor, visibleProject } from '../principal.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { layoutNames } from '../../../runtime/pool/layout.ts'
import { endings } from '../../../runtime/pool/record.ts'
import { snapshotIdSchema } from './lifetime-words.ts'
import { keysKept, onceRequest } from './once-request.ts'
import { namedMountSchema } from './provision.ts'
import {
  detailOf,
  hostedFor,
  givenMetadataSchema,
  sandboxDetail,
  sandboxParams,
  sandboxStates,
  sandboxSummary,
  summaryOf,
} from './sandbox-words.ts'

export interface SandboxParts {
  readonly house: SandboxHouse
  readonly once: Once
  readonly lister: Lister
}

const tag = 'sandboxes'
/** Files pass through an action as base64, so its body may be larger than others. */
const maxActionBytes = 24 * 1024 * 1024

/** What cannot be passed on is refused in its own words, INVALID_ENV, where it would be. */
export const environmentSchema = z.record(z.string(), z.string())

export const sandboxRequest = named(
  'SandboxRequest',
  z.strictObject({
    project: projectSchema.optional().describe("Default: the token's."),
    name: z.string().min(1).max(200).optional(),
    backend: z.string().min(1).max(50).optional().describe('Default: the first that the server offers.'),
    policy: policyValuesSchema.optional().describe('Above a ceiling it is refused with POLICY_ESCALATION.'),
    env: environmentSchema.optional().describe('Values reach the guest only.'),
    cwd: z.string().min(1).max(4096).optional(),
    lifeMs: z
      .int()
      .positive()
      .optional()
      .describe('After so long it ends, whatever it does. It can be renewed, up to the age that the operator allows.'),
    key: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('The same key gives the same sandbox of the project; the other fields count where there is none yet.'),
    metadata: givenMetadataSchema
      .optional()
      .describe('For people and for lists, 16 KiB at most; nothing of it reaches the guest.'),
    layout: z
      .enum(layoutNames)
      .optional()
      .describe('`thread`: /mnt/user-data with workspace, uploads and outputs, and /mnt/skills.'),
    mounts: z
      .array(namedMountSchema)
      .max(100)
      .optional()
      .describe('Directories that the operator offers, by name; later ones come by `provision`.'),
    snapshot: snapshotIdSchema.optional().describe('Begin with its files.'),
    atEnd: z.enum(endings).optional().describe('When its life is over it is destroyed, or paused.'),
  }),
)
/** `name=value`, and more of them behind an ampersand, percent-encoded as a query is. */
const metadataFilter = z
  .string()
  .max(8192)
  .transform((text) => Object.fromEntries(new URLSearchParams(text)))
const statesFilter = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(sandboxStates)).max(10))

export const sandboxQuery = z.strictObject({
  ...pageQuery,
  project: projectSchema.optional(),
  metadata: metadataFilter.optional().describe('`name=value&…`: all of these.'),
  state: statesFilter.optional().describe('One or more, with commas.'),
})

const page = named(
  'SandboxPage',
  z.strictObject({ items: z.array(sandboxSummary.schema), next_cursor: z.string().nullable() }),
)
const actionRequest = named(
  'ActionRequest',
  z.strictObject({ action: z.string().min(1).max(100), input: z.unknown().optional() }),
)
const actionResult = named('ActionResult', z.strictObject({ output: z.unknown() }))

const shown = ({ isNew, detail }: { readonly isNew: boolean; readonly detail: ReturnType<typeof detailOf> }) =>
  json(isNew ? 201 : 200, detail, { location: `/sandboxes/${detail.id}` })

export const sandboxRoutes: RouteModule<SandboxParts> = ({ house, once, lister }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes',
    tag,
    audit: 'sandbox.create',
    isHeavy: true,
    isQuick: true,
    summary: 'Make a sandbox, or get the one of a key.',
    description:
      'It has an empty /workspace of its own, and ends with DELETE or when its life is over. One that nobody uses gives back all but its files, and comes back with the next use.',
    scope: 'exec',
    body: sandboxRequest,
    headers: { 'Idempotency-Key': `One sandbox, however often it is sent. ${keysKept}` },
    answers: {
      200: { description: 'The key had one, and it is ready.', json: sandboxDetail },
      201: { description: 'It is made, and ready.', json: sandboxDetail },
    },
    errors: [
      'POLICY_DENIED',
      'POLICY_ESCALATION',
      'POLICY_UNENFORCEABLE',
      'BACKEND_UNAVAILABLE',
      'QUOTA_EXCEEDED',
      'CAPACITY_EXCEEDED',
      'BUSY',
      'KEY_COLLISION',
      'IDEMPOTENCY_MISMATCH',
    ],
    handle: async (call, { whenRecorded }) => {
      const { body, principal } = call
      const { mounts: offered, ...rest } = body
      const project = projectFor(principal, body.project)
      const asked = { ...rest, offered, project, tokenId: principal.tokenId, isUnhurried: call.isOfCrowd }
      const acquire = async (id?: string) => {
        const { hosted, isNew: isMade } = await house.acquire({ ...asked, id })
        // Within: a key must keep no answer that was taken back, and its repetition makes nothing that could be.
        await whenRecorded(async () => (isMade ? house.destroy(hosted.id) : undefined))
        // Without a key of its own it was made by this very request, now or when that was sent before.
        return { isNew: isMade || body.key === undefined, detail: detailOf(hosted) }
      }
      if (call.header('idempotency-key') === undefined) return shown(await acquire())
      const reserved = house.reserve({ project, key: body.key })
      try {
        const asOnce = onceRequest(call, project, () => reserved.id)
        return shown(await once.perform(asOnce, ({ subject }) => acquire(subject)))
      } finally {
        await reserved.giveBack()
      }
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes',
    tag,
    summary: 'List sandboxes.',
    scope: 'read',
    query: sandboxQuery,
    answers: { 200: { description: 'Newest first.', json: page } },
    errors: ['INVALID_CURSOR'],
    handle: async ({ query, principal }) => {
      const project = visibleProject(principal, query.project)
      const filter = { project, metadata: query.metadata, states: query.state }
      const asked = { list: `sandboxes ${JSON.stringify(filter)}`, principal, query }
      return json(200, await answerPage(lister, asked, (at) => house.list(filter, at), summaryOf))
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}',
    tag,
    summary: 'One sandbox, with what is enforced and what is not.',
    scope: 'read',
    params: sandboxParams,
    answers: { 200: { description: 'The sandbox.', json: sandboxDetail } },
    handle: async ({ params, principal }) => json(200, detailOf(hostedFor(house, params.sandbox_id, principal))),
  }),
  defineRoute({
    method: 'delete',
    path: '/sandboxes/{sandbox_id}',
    tag,
    audit: 'sandbox.destroy',
    summary: 'End a sandbox and everything inside.',
    scope: 'exec',
    whileDraining: true,
    params: sandboxParams,
    answers: { 204: { description: 'It is gone.' } },
    handle: async ({ params, principal }) => {
      await house.destroy(hostedFor(house, params.sandbox_id, principal).id)
      return empty()
    },
  }),
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/execute',
    tag,
    audit: 'sandbox.execute',
    isQuick: true,
    summary: 'Perform a named action.',
    description: 'The actions and their schemas are those of the library: docs/reference/actions.md.',
    scope: 'exec',
    params: sandboxParams,
    body: actionRequest,
    maxBodyBytes: maxActionBytes,
    answers: { 200: { description: "The action's output.", json: actionResult } },
    errors: ['UNKNOWN_ACTION', 'OUTSIDE_MOUNTS', 'READ_ONLY', 'QUOTA_EXCEEDED', 'SANDBOX_GONE', 'CONFLICT'],
    handle: async ({ params, body, principal, signal }) => {
      const { sandbox, takeUpload } = hostedFor(house, params.sandbox_id, principal)
      if (findAction(body.action)?.effect === 'write') takeUpload(JSON.stringify(body.input ?? null).length)
      return json(200, { output: await sandbox.execute(body.action, body.input ?? {}, { signal }) })
    },
  }),
]
