// The catalog of a sandbox: the files that its agent reads about itself, as one document.
import { catalogSchema } from '../../../contract/catalog.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { json } from '../answer.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { hostedFor, sandboxParams } from './sandbox-words.ts'

const catalog = named('Catalog', catalogSchema)

export const catalogRoutes: RouteModule<{ readonly house: SandboxHouse }> = ({ house }) => [
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/catalog',
    tag: 'sandboxes',
    summary: 'What the agent in a sandbox can read about itself.',
    description:
      'Who it is, what it may do, what it did, and what is left of its budget, as of now. In the guest it is a set of files, at the path that the description names.',
    scope: 'read',
    params: sandboxParams,
    answers: { 200: { description: 'The whole catalog.', json: catalog } },
    errors: ['SANDBOX_GONE'],
    handle: async ({ params, principal }) =>
      json(200, await hostedFor(house, params.sandbox_id, principal).sandbox.catalog()),
  }),
]
