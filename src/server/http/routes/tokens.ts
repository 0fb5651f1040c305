// Tokens over the wire. Nobody hands out more than he has: neither scope, nor project, nor time.
import { z } from 'zod'
import { tokenIdSchema, tokenInfoSchema, tokenRequestSchema, type TokenRequest } from '../../../contract/token.ts'
import { GloveboxError } from '../../../errors/error.ts'
import type { TokenDesk } from '../../../runtime/server/tokens.ts'
import { empty, json } from '../answer.ts'
import { answerPage, pageQuery, type Lister } from '../cursor.ts'
import { requireVisible, visibleProject, type Principal } from '../principal.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'

export interface TokenParts {
  readonly desk: TokenDesk
  readonly lister: Lister
}

const tag = 'tokens'
const info = named('Token', tokenInfoSchema)
const issued = named('IssuedToken', tokenInfoSchema.extend({ token: z.string().describe('Shown this once.') }))
const page = named('TokenPage', z.strictObject({ items: z.array(tokenInfoSchema), next_cursor: z.string().nullable() }))
const params = z.strictObject({ token_id: tokenIdSchema })

export const tokenRoutes: RouteModule<TokenParts> = ({ desk, lister }) => [
  defineRoute({
    method: 'post',
    path: '/tokens',
    tag,
    audit: 'token.create',
    summary: 'Make a token.',
    description: "It has at most the maker's scopes, project and life. The token itself is in this answer only.",
    scope: 'admin',
    body: named('TokenRequest', tokenRequestSchema),
    answers: { 201: { description: 'The token.', json: issued } },
    errors: ['SCOPE_ESCALATION'],
    handle: async ({ body, principal }) => {
      const { secret, info: made } = await desk.issue({
        name: body.name,
        scopes: body.scopes,
        ...withinOwn(body, principal),
        createdBy: principal.tokenId,
      })
      return json(201, { ...made, token: secret }, { location: `/tokens/${made.id}` })
    },
  }),
  defineRoute({
    method: 'get',
    path: '/tokens',
    tag,
    summary: 'List tokens.',
    scope: 'admin',
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Newest first; none shows its secret.', json: page } },
    errors: ['INVALID_CURSOR'],
    handle: async ({ query, principal }) => {
      const project = visibleProject(principal)
      const look = (asked: Parameters<TokenDesk['list']>[1]) => desk.list({ project }, asked)
      return json(200, await answerPage(lister, { list: 'tokens', principal, query }, look, (row) => row))
    },
  }),
  defineRoute({
    method: 'get',
    path: '/tokens/{token_id}',
    tag,
    summary: 'One token.',
    scope: 'admin',
    params,
    answers: { 200: { description: 'What is known of it.', json: info } },
    handle: async ({ params: { token_id }, principal }) =>
      json(200, requireVisible(principal, await desk.show(token_id), 'token')),
  }),
  defineRoute({
    method: 'delete',
    path: '/tokens/{token_id}',
    tag,
    audit: 'token.revoke',
    summary: 'Revoke a token.',
    description: 'It is refused everywhere within seconds, and streams that were opened with it end within a minute.',
    scope: 'admin',
    params,
    answers: { 204: { description: 'It is revoked, now or already.' } },
    handle: async ({ params: { token_id }, principal }) => {
      requireVisible(principal, await desk.show(token_id), 'token')
      await desk.revoke(token_id)
      return empty()
    },
  }),
]

// SECURITY: a token that could make a stronger one would be that stronger one.
// test/e2e/server-identity: "a token cannot make one with more project or life than its own"
function withinOwn(
  { scopes, project, expires_in_seconds }: TokenRequest,
  principal: Principal,
): { readonly project: string | null; readonly expiresAt: string | null } {
  if (!scopes.every((scope) => principal.scopes.has(scope))) throw escalation('scopes')
  const chosen = project === undefined ? principal.project : project
  if (principal.project !== null && chosen !== principal.project) throw escalation('project')
  const asked = expires_in_seconds === undefined ? undefined : Date.now() + expires_in_seconds * 1000
  const own = principal.expiresAt === null ? undefined : Date.parse(principal.expiresAt)
  if (asked !== undefined && own !== undefined && asked > own) throw escalation('expires_in_seconds')
  const expires = asked ?? own
  return { project: chosen, expiresAt: expires === undefined ? null : new Date(expires).toISOString() }
}

const escalation = (field: string): GloveboxError =>
  new GloveboxError('SCOPE_ESCALATION', `Cannot make the token: its ${field} would go beyond the maker's own`, {
    hint: 'Ask for at most what the token in use has.',
    facts: { field },
  })
