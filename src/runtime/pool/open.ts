// A pool put together: real members over the backends that the operator offers, leases where they are kept, and the clock. For a server
// and for a program that uses the library alike.
import type { PolicyLayer } from '../../contract/policy.ts'
import type { HostPath } from '../../contract/mount.ts'
import { defaultPoolLimits, reapPace, type PoolLimits } from '../../pool/limits.ts'
import { openPool, type Pool } from '../../pool/pool.ts'
import type { ServedBackends } from '../server/backends.ts'
import type { PoolSettings } from '../settings.ts'
import { methodChooser } from './carry.ts'
import { openBootClock } from './clock.ts'
import { resolveEnvironment } from './environment.ts'
import { guestsOwn } from './furnish.ts'
import type { KeptLeases } from './leases.ts'
import { openLifetimes, type Lifetimes } from './lifetimes.ts'
import type { Member } from './member.ts'
import { openMembers, type RealMembers } from './members.ts'
import type { MemberRequest } from './request.ts'
import type { VaultRequests } from '../secrets.ts'

export interface RealPoolOptions {
  readonly state: HostPath
  readonly backends: ServedBackends
  readonly leases: KeptLeases
  readonly layers: readonly PolicyLayer[]
  readonly env: Readonly<Record<string, string>>
  readonly vaults?: VaultRequests | undefined
  readonly settings?: PoolSettings | undefined
  readonly limits?: Partial<PoolLimits>
  /** Of a sandbox for which nothing else was asked. */
  readonly lifeMs: number
  /** None grows older, however often it is renewed. Default: any age. */
  readonly maxAgeMs?: number | undefined
  /** Told of what went wrong while nobody had asked for it. */
  readonly onFault?: ((error: unknown, about: string) => void) | undefined
  readonly operatorEnv: Readonly<Record<string, string | undefined>>
}

export interface RealPool {
  readonly pool: Pool<Member, MemberRequest>
  readonly members: RealMembers
  readonly lifetimes: Lifetimes
}

export function openRealPool(options: RealPoolOptions): RealPool {
  const { state, backends, layers, settings, maxAgeMs } = options
  const { leases, at: leasesAt } = options.leases
  const methodFor = methodChooser(state, backends)
  const members = openMembers({
    state,
    leasesAt,
    backends,
    layers: [guestsOwn, ...layers],
    env: { ...options.env, ...resolveEnvironment(settings?.environment ?? {}, options.operatorEnv) },
    vaults: options.vaults ?? {},
    mounts: settings?.mounts ?? [],
    skills: settings?.skills,
    offers: settings?.offered_mounts,
    defaults: { backend: backends.names[0] ?? '', layout: settings?.layout ?? 'workspace', lifeMs: options.lifeMs },
    maxAgeMs,
    methodFor,
    warm: settings?.warm,
    onFault: (error) => options.onFault?.(error, 'a sandbox that was to be made ahead of its use'),
  })
  const asked = { ...defaultPoolLimits, ...options.limits, ...limitsOf(settings) }
  const limits = { ...asked, reapEveryMs: options.limits?.reapEveryMs ?? reapPace(asked.idleMs) }
  const shared = openPool({ clock: openBootClock(), leases, members, limits })
  const shutdown = async (): Promise<void> => void (await Promise.all([members.close(), shared.shutdown()]))
  const release = async (id: string): Promise<void> => {
    const member = shared.find(id)
    await shared.release(id)
    if (shared.stats().warm <= mostReady) member?.warmUp()
  }
  const acquire: typeof shared.acquire = (key, asked = {}) => {
    // Without a key it is a new one for certain: its first process starts while the lease is asked for.
    if (key === undefined) members.expect(asked.request ?? {})
    return shared.acquire(key, asked)
  }
  const pool = { ...shared, acquire, release, shutdown }
  return { pool, members, lifetimes: openLifetimes({ state, pool, members, methodFor, maxAgeMs }) }
}

/** Of the parked ones so many keep a process that waits for their next command; the others start one. */
const mostReady = 64

const limitsOf = ({ replicas, idle_timeout: idle }: Partial<PoolSettings> = {}): Partial<PoolLimits> => ({
  ...(replicas === undefined ? {} : { replicas }),
  ...(idle === undefined ? {} : { idleMs: Math.round(idle * 1000) }),
})
