// Tickets for WebSockets. A page cannot send a header with one, and a token has no place in an address; so it asks for a ticket
// with its token first, which is good once, for half a minute, and for one path.
import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from './principal.ts'

export interface Tickets {
  issue(principal: Principal, path: string): { readonly ticket: string; readonly expiresAt: string }
  /** Whose it is, if it is good for this path. It is used up by the question. */
  redeem(ticket: string, path: string): Principal | undefined
}

const lifeMs = 30_000
const mostOfOneToken = 100

interface Issued {
  readonly principal: Principal
  readonly path: string
  readonly until: number
}

/** SECURITY: test/e2e/server-shells: "a ticket is good once, for half a minute, and for one terminal" */
export function createTickets(now: () => number = () => performance.now()): Tickets {
  const issued = new Map<string, Issued>()
  const forgetOld = (): void => {
    for (const [key, { until }] of issued) if (until <= now()) issued.delete(key)
  }
  return {
    issue(principal, path) {
      forgetOld()
      const own = [...issued].filter(([, each]) => each.principal.tokenId === principal.tokenId)
      for (const [key] of own.slice(0, Math.max(0, own.length - mostOfOneToken + 1))) issued.delete(key)
      const ticket = randomBytes(24).toString('base64url')
      issued.set(hashOf(ticket), { principal, path, until: now() + lifeMs })
      return { ticket, expiresAt: new Date(Date.now() + lifeMs).toISOString() }
    },
    redeem(ticket, path) {
      forgetOld()
      const key = hashOf(ticket)
      const found = issued.get(key)
      issued.delete(key)
      return found?.path === path ? found.principal : undefined
    },
  }
}

/** Looked up by its hash, so that no comparison with a secret takes a time that depends on it. */
const hashOf = (ticket: string): string => createHash('sha256').update(ticket).digest('base64')
