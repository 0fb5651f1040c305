// What may be done with which token, stated by itself: what the document declares and what the server does are held against it, so that a
// route which declares too little is found by more than its own word.
import type { TokenScope } from '../../src/contract/store.ts'

export type Needed = TokenScope | 'open'

export interface Place {
  readonly method: string
  /** As the document writes it. */
  readonly path: string
}

/** A WebSocket, so no operation of the document. */
export const attachPath = '/sandboxes/{sandbox_id}/shells/{shell_id}/attach'

/** What only looks needs `read`, and what changes anything `exec`; but for these. */
export const exceptions: Readonly<Record<string, Needed>> = {
  // An orchestrator asks for them, and has no token.
  'GET /healthz': 'open',
  'GET /readyz': 'open',
  // It tells how to come by a token, and nothing of what the server holds.
  'GET /docs': 'open',
  // Who may hand out tokens, or take them away, decides who may do anything; and who holds one is nobody else's business.
  'GET /tokens': 'admin',
  'POST /tokens': 'admin',
  'GET /tokens/{token_id}': 'admin',
  'DELETE /tokens/{token_id}': 'admin',
  // Whoever is attached can type.
  [`GET ${attachPath}`]: 'exec',
}

export const neededFor = ({ method, path }: Place): Needed =>
  exceptions[`${method} ${path}`] ?? (method === 'GET' ? 'read' : 'exec')
