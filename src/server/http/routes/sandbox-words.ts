// What the routes of a sandbox have in common: how one is named, found and shown.
import { z } from 'zod'
import { vaultSchema } from '../../../actions/schemas.ts'
import { capabilityNames } from '../../../contract/capability.ts'
import { layerNames, policyValuesSchema } from '../../../contract/policy.ts'
import type { HostedSandbox, SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { requireVisible, type Principal } from '../principal.ts'
import { named } from '../route.ts'

export const sandboxIdSchema = z.string().regex(/^sbx_[0-9a-z]{8,64}$/, 'must be an id of a sandbox')
export const sandboxParams = z.strictObject({ sandbox_id: sandboxIdSchema })

const origin = z.strictObject({ layer: z.enum(layerNames), source: z.string() })

/** `describe()` as JSON: it speaks the guest's words, and no host path appears. */
const descriptionSchema = z.strictObject({
  id: sandboxIdSchema,
  backend: z.string(),
  sandboxed: z.boolean(),
  cwd: z.string(),
  networkMode: z.string(),
  homeDir: z.string(),
  tmpDir: z.string(),
  cacheDir: z.string(),
  mounts: z.array(z.strictObject({ guestPath: z.string(), mode: z.enum(['rw', 'ro', 'vault']) })),
  vaults: z.array(vaultSchema).describe('Names only.'),
  policy: z.array(
    z.strictObject({
      field: policyValuesSchema.keyof(),
      value: z.unknown(),
      from: origin,
      ceiling: z.strictObject({ value: z.unknown(), from: origin }).optional(),
    }),
  ),
  enforced: z.array(z.strictObject({ what: z.enum(capabilityNames), by: z.string() })),
  notEnforced: z.array(z.strictObject({ what: z.enum(capabilityNames), why: z.string() })),
  environment: z.array(z.string()).describe('Names only.'),
  catalog: z.strictObject({ guestPath: z.string(), version: z.int().positive() }).nullable(),
})

export const sandboxStates = ['active', 'warm', 'resting', 'paused'] as const
const metadataSchema = z.record(z.string().min(1).max(200), z.string().max(4096))
/** They are in every list of sandboxes, of which a page has many. */
const mostMetadataBytes = 16 * 1024
export const givenMetadataSchema = metadataSchema.refine(
  (given) =>
    Object.entries(given).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0) <= mostMetadataBytes,
  `names and values may have ${mostMetadataBytes} bytes together`,
)

const head = {
  id: sandboxIdSchema,
  project: z.string(),
  name: z.string().nullable(),
  key: z.string().nullable(),
  metadata: metadataSchema,
  state: z
    .enum(sandboxStates)
    .describe('`warm` was released; `resting` has its files only, or is open in another process. Any use opens it.'),
  createdAt: z.string(),
  expiresAt: z.string(),
  backend: z.string(),
}

export const sandboxSummary = named('SandboxSummary', z.strictObject(head))
export const sandboxDetail = named('Sandbox', z.strictObject({ ...head, description: descriptionSchema }))

export function summaryOf(hosted: HostedSandbox) {
  const { id, project, name, key, metadata, state, createdAt, expiresAt, backend } = hosted
  return { id, project, name, key, metadata, state, createdAt, expiresAt, backend }
}

export const detailOf = (hosted: HostedSandbox) => ({ ...summaryOf(hosted), description: hosted.sandbox.describe() })

export const hostedFor = (house: SandboxHouse, id: string, principal: Principal): HostedSandbox =>
  requireVisible(principal, house.find(id), 'sandbox')
