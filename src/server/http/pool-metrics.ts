// The pool in Prometheus' words: what it has, what it has done, and how long acquires have to wait is seen in the requests' own times.
import type { SandboxHouse } from '../../runtime/server/sandboxes.ts'
import type { Metrics } from './metrics.ts'

export function watchPool(metrics: Metrics, house: Pick<SandboxHouse, 'stats' | 'ahead'>): void {
  metrics.gauge('glovebox_pool_places', 'Sandboxes that may be open at one time.', () => house.stats().replicas)
  metrics.gauge('glovebox_pool_places_used', 'Of these, taken.', () => house.stats().used)
  metrics.gauge('glovebox_pool_ready', 'Made ahead, and claimed by nobody yet.', () => house.ahead.ready)
  metrics.gauge('glovebox_pool_ready_wanted', 'How many should be.', () => house.ahead.wanted)
  metrics.gauge('glovebox_pool_ready_failed_total', 'Could not be made ahead.', () => house.ahead.failed)
  metrics.gauge('glovebox_pool_waiting', 'Acquires that wait for a place.', () => house.stats().waiting)
  metrics.counts('glovebox_pool_members', 'Sandboxes that are open.', 'state', () => {
    const { active, warm } = house.stats()
    return { active, warm }
  })
  metrics.counts(
    'glovebox_pool_acquired_total',
    'Acquires, by where the sandbox was found.',
    'source',
    () => house.stats().acquired,
  )
  metrics.counts('glovebox_pool_ended_total', 'Sandboxes that were ended, by why.', 'why', () => house.stats().ended)
  metrics.gauge('glovebox_pool_replaced_total', 'Found dead when they were borrowed.', () => house.stats().replaced)
  metrics.gauge('glovebox_pool_lost_total', 'Leases that passed to another process.', () => house.stats().lost)
}
