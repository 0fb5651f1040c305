// Where leases are kept: with PostgreSQL in the database that all servers share, else in files that all processes of this host share.
import { join } from 'node:path'
import type { Leases } from '../../contract/lease.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Store } from '../../contract/store.ts'
import { openFileLeases } from '../../pool/file-leases/open.ts'
import { databaseUrl, hasSharedDatabase } from '../server/place.ts'
import { bootTime } from './clock.ts'

export interface LeasesPlace {
  readonly state: HostPath
  /** Of a process that has it open. Default: what DATABASE_URL says. */
  readonly store?: Pick<Store, 'openLeases' | 'installationId'>
  /** `pool.lease_timeout` of the settings. */
  readonly timeoutSeconds?: number | undefined
}

export interface KeptLeases {
  readonly leases: Leases
  /** A name for where: tokens of one place mean nothing in another. */
  readonly at: string
}

export async function openLeases({ state, store, timeoutSeconds }: LeasesPlace): Promise<KeptLeases> {
  const options = timeoutSeconds === undefined ? {} : { ttlMs: Math.round(timeoutSeconds * 1000) }
  if (store?.openLeases !== undefined)
    return { leases: store.openLeases(options), at: `postgres ${store.installationId}` }
  if (store === undefined && hasSharedDatabase()) return openWithStore(state, timeoutSeconds)
  const directory = join(state, 'leases') as HostPath
  return { leases: openFileLeases({ directory, nowMs: bootTime(), ...options }), at: 'files' }
}

/** For a program that needs nothing else of the database. */
async function openWithStore(state: HostPath, timeoutSeconds: number | undefined): Promise<KeptLeases> {
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(state) })
  const { leases, at } = await openLeases({ state, store, timeoutSeconds })
  const close = async (): Promise<void> => {
    await leases.close()
    await store.close()
  }
  return { at, leases: { ...leases, close } }
}
