// From the Authorization header to a principal. A token is looked up by its hash, so no comparison with a secret takes a time
// that depends on it; every refusal looks the same, but for a token that was good and whose time is over.
import type { TokenRow, TokenScope } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { TokenDesk } from '../../runtime/server/tokens.ts'
import type { Principal } from './principal.ts'

/** Clocks of two machines may differ by so much; a token may be used so much before it begins, and no longer than it lasts. */
const skewMs = 60_000

const implied: Readonly<Record<TokenScope, readonly TokenScope[]>> = {
  read: ['read'],
  exec: ['read', 'exec'],
  admin: ['read', 'exec', 'admin'],
}

export type Authenticate = (authorization: string | undefined) => Promise<Principal>

export function createAuthenticator(desk: Pick<TokenDesk, 'find'>, now: () => number = Date.now): Authenticate {
  return async (authorization) => {
    const secret = bearerOf(authorization)
    const row = secret === undefined ? undefined : await desk.find(secret)
    if (secret === undefined || row === undefined) throw unauthenticated()
    requireInForce(row, now())
    return principalOf(row, async () => {
      const current = await desk.find(secret)
      return current !== undefined && isInForce(current, now())
    })
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

const isInForce = (row: TokenRow, now: number): boolean =>
  row.revoked_at === null &&
  !isExpired(row, now) &&
  (row.not_before === null || Date.parse(row.not_before) - skewMs <= now)

/** A time that cannot be read has come. */
const isExpired = ({ expires_at }: TokenRow, now: number): boolean =>
  expires_at !== null && !(now < Date.parse(expires_at))

const principalOf = (row: TokenRow, stillGood: () => Promise<boolean>): Principal => ({
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
