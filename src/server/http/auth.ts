// From the Authorization header to a principal. A token is looked up by its hash, so no comparison with a secret takes a time
// that depends on it; every refusal looks the same and takes as long, but for a token that was good and whose time is over.
import type { TokenRow, TokenScope } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isExpired, isInForce, type TokenDesk } from '../../runtime/server/tokens.ts'
import type { Principal } from './principal.ts'

const implied: Readonly<Record<TokenScope, readonly TokenScope[]>> = {
  read: ['read'],
  exec: ['read', 'exec'],
  admin: ['read', 'exec', 'admin'],
}

/** At once for a token that is remembered; else when it was looked up. */
export type Authenticate = (authorization: string | undefined) => Principal | Promise<Principal>

type Desk = Pick<TokenDesk, 'remembered' | 'find' | 'findNone'>

export function createAuthenticator(desk: Desk, now: () => number = Date.now): Authenticate {
  const principals = new WeakMap<TokenRow, Principal>()
  const principalOf = (row: TokenRow, secret: string): Principal => {
    const known = principals.get(row)
    if (known !== undefined) return known
    const stillGood = async (): Promise<boolean> => {
      const current = await desk.find(secret)
      return current !== undefined && isInForce(current, now())
    }
    const principal = makePrincipal(row, stillGood)
    principals.set(row, principal)
    return principal
  }
  const lookUp = async (secret: string): Promise<Principal> => {
    const row = await desk.find(secret)
    if (row === undefined) throw unauthenticated()
    requireInForce(row, now())
    return principalOf(row, secret)
  }
  // SECURITY: how long a refusal takes must not tell what was wrong with the token, so one that cannot be a token, or is not
  // there at all, is looked up like any other. src/server/http/auth.test.ts: "every refusal takes one look-up: %s"
  const lookUpNone = async (): Promise<never> => {
    // What a database that fails has to say is not for whoever showed nothing.
    await desk.findNone().catch(() => undefined)
    throw unauthenticated()
  }
  return (authorization) => {
    const secret = bearerOf(authorization)
    if (secret === undefined) return lookUpNone()
    const row = desk.remembered(secret)
    return row === undefined || !isInForce(row, now()) ? lookUp(secret) : principalOf(row, secret)
  }
}

// SECURITY: only this scheme, spelt so, and only in the header: what a proxy or a log might keep is no place for a token.
// test/e2e/server-identity: "a token counts only as a Bearer in the Authorization header"
function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([A-Za-z0-9_-]{1,128})$/.exec(header ?? '')?.[1]
}

function requireInForce(row: TokenRow, now: number): void {
  if (isInForce(row, now)) return
  if (row.revoked_at === null && isExpired(row, now))
    throw new GloveboxError('TOKEN_EXPIRED', 'Cannot use the token: its time is over', { hint: 'Ask for a new one.' })
  throw unauthenticated()
}

const makePrincipal = (row: TokenRow, stillGood: () => Promise<boolean>): Principal => ({
  tokenId: row.id,
  scopes: new Set(row.scopes.flatMap((scope) => implied[scope])),
  project: row.project,
  actor: `token:${row.id}`,
  expiresAt: row.expires_at,
  stillGood,
})

export function requireScope({ scopes }: Principal, scope: TokenScope): void {
  if (scopes.has(scope)) return
  throw new GloveboxError('INSUFFICIENT_SCOPE', `Cannot do this: the token has not the scope ${scope}`, {
    hint: 'Use a token with that scope.',
    facts: { scope },
  })
}

const unauthenticated = (): GloveboxError =>
  new GloveboxError('UNAUTHENTICATED', 'Cannot answer: the request carries no token that is in force', {
    hint: 'Send it as: Authorization: Bearer gbx_…  `glovebox token create` makes one.',
  })
