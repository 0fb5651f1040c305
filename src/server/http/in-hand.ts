// A request that is being served: what it came with, and what is known of it for its answer and the log.
import type { HttpBindings } from '@hono/node-server'
import type { AuditLog } from '../../runtime/audit.ts'
import type { BodyRoom } from './body-room.ts'
import type { Deliveries } from './deliveries.ts'
import type { Drain } from './drain.ts'
import type { Entry } from './gate.ts'
import type { Lanes } from './lanes.ts'
import type { Leftovers } from './leftovers.ts'
import type { Limits } from './limits.ts'
import type { Log } from './logs.ts'
import type { Metrics } from './metrics.ts'
import type { Principal } from './principal.ts'
import type { Refusals } from './refusals.ts'
import type { Route } from './route.ts'
import type { Throttle } from './throttle.ts'

export interface AppParts {
  readonly routes: readonly Route[]
  readonly limits: Limits
  readonly throttle: Pick<Throttle, 'enterStream'>
  readonly audit: Pick<AuditLog, 'begin' | 'beginWritten'>
  readonly refusals: Refusals
  readonly log: Log
  readonly metrics: Metrics
  readonly drain: Drain
  readonly deliveries: Deliveries
  readonly leftovers: Leftovers
  readonly lanes: Lanes
  readonly bodies: BodyRoom
}

export type Env = { Bindings: HttpBindings & { readonly entry: Entry } }

/** What is known of a request while it is served, for the answer and the log. */
export interface Serving {
  readonly requestId: string
  readonly begun: number
  readonly headers: Record<string, string>
  principal?: Principal
  /** The place of its stream among those of its token, and what gives it back. */
  place?: () => void
  isFollowed?: true
  /** Of an answer that is out already. */
  status?: number
}

export interface InHand {
  readonly parts: AppParts
  readonly serving: Serving
}
