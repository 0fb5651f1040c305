// Mounts and vaults of a sandbox that come and go between its commands. A caller says names that the operator has given to things of
// the host; a path of the host appears in no request and in no answer.
import { z } from 'zod'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { json } from '../answer.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { detailOf, hostedFor, sandboxDetail, sandboxParams } from './sandbox-words.ts'

const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be a name that the operator has given')
const guestPathSchema = z.string().min(2).max(4096).startsWith('/')

export const namedMountSchema = z.strictObject({
  name: nameSchema.describe('Of those that the settings of the server offer.'),
  guestPath: guestPathSchema,
  mode: z.enum(['ro', 'rw']).optional().describe('Default: as it is offered. Not wider.'),
})

export const provisionRequest = named(
  'ProvisionRequest',
  z.strictObject({
    mounts: z
      .strictObject({
        add: z.array(namedMountSchema).max(100).optional(),
        remove: z.array(guestPathSchema).max(100).optional().describe('Of those that were added so.'),
      })
      .optional(),
    vaults: z
      .strictObject({
        add: z.array(nameSchema).max(100).optional().describe('Of those of the server that were removed before.'),
        remove: z.array(nameSchema).max(100).optional(),
      })
      .optional(),
  }),
)
export const provisioned = named(
  'Provisioned',
  z.strictObject({
    sandbox: sandboxDetail.schema,
    lost: z
      .array(z.string())
      .describe('What of its state did not survive, in words. Files, home and policy always do.'),
  }),
)

export const provisionRoutes: RouteModule<{ readonly house: SandboxHouse }> = ({ house }) => [
  defineRoute({
    method: 'post',
    path: '/sandboxes/{sandbox_id}/provision',
    tag: 'sandboxes',
    audit: 'sandbox.provision',
    summary: 'Add and remove mounts and vaults, between commands.',
    description:
      'Wholly or not at all; removing comes first. It holds until it is changed, also when the sandbox rests or the server is started anew; a mount that the operator offers no more is gone the next time the sandbox is opened.',
    scope: 'exec',
    params: sandboxParams,
    body: provisionRequest,
    answers: { 200: { description: 'As it stands now.', json: provisioned } },
    errors: ['POLICY_DENIED', 'POLICY_ESCALATION', 'ALREADY_EXISTS', 'BUSY', 'SANDBOX_GONE', 'POLICY_UNENFORCEABLE'],
    handle: async ({ params, body, principal }) => {
      const { id } = hostedFor(house, params.sandbox_id, principal)
      const { lost } = await house.provision(id, body)
      return json(200, { sandbox: detailOf(hostedFor(house, id, principal)), lost })
    },
  }),
]
