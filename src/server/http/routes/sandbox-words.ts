// What the routes of a sandbox have in common: how one is named, found and shown.
import { z } from 'zod'
import { layerNames } from '../../../contract/policy.ts'
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
  policy: z.array(
    z.strictObject({
      field: z.string(),
      value: z.unknown(),
      from: origin,
      ceiling: z.strictObject({ value: z.unknown(), from: origin }).optional(),
    }),
  ),
  enforced: z.array(z.strictObject({ what: z.string(), by: z.string() })),
  notEnforced: z.array(z.strictObject({ what: z.string(), why: z.string() })),
  environment: z.array(z.string()).describe('Names only.'),
})

const head = {
  id: sandboxIdSchema,
  project: z.string(),
  name: z.string().nullable(),
  createdAt: z.string(),
  expiresAt: z.string(),
  backend: z.string(),
}

export const sandboxSummary = named('SandboxSummary', z.strictObject(head))
export const sandboxDetail = named('Sandbox', z.strictObject({ ...head, description: descriptionSchema }))

export function summaryOf({ id, project, name, createdAt, expiresAt, sandbox }: HostedSandbox) {
  return { id, project, name, createdAt, expiresAt, backend: sandbox.describe().backend }
}

export const detailOf = (hosted: HostedSandbox) => ({ ...summaryOf(hosted), description: hosted.sandbox.describe() })

export const hostedFor = (house: SandboxHouse, id: string, principal: Principal): HostedSandbox =>
  requireVisible(principal, house.find(id), 'sandbox')
