// A pool in the operator's process, and the tenants that share it. Two keys are two tenants: each attacks what the other had.
import { join } from 'node:path'
import type { OperatorPolicy, PolicyValues } from '../../src/contract/policy.ts'
import { liveGuest, target, type AttackHost, type Created, type Guest } from './host.ts'

export interface TenantRequest {
  readonly policy?: PolicyValues
  readonly env?: Readonly<Record<string, string>>
}

export interface Tenant extends Guest {
  /** Where the pool keeps it on the host. */
  readonly directory: string
  /** It was made before anybody asked for it. */
  readonly wasSpare: boolean
  /** Parked, with its files. */
  release(): Promise<void>
  /** Ended, with its files. */
  destroy(): Promise<void>
}

export interface AttackPool {
  acquire(key: string, request?: TenantRequest): Promise<Tenant>
  /** How many wait, once as many wait as should. */
  spares(): Promise<number>
}

export interface PoolOptions {
  readonly warm: number
  readonly replicas: number
  /** The operator's own. */
  readonly policy?: OperatorPolicy
}

export async function openAttackPool(host: AttackHost, options: PoolOptions): Promise<AttackPool> {
  const { warm, replicas, policy = {} } = options
  const layers = [{ layer: 'settings', source: 'test', values: policy }]
  await host.ask('pool', { ...target, layers, settings: { warm, replicas } })
  return {
    spares: () => host.ask('spares', {}),
    async acquire(key, request = {}) {
      const made = await host.ask<Acquired>('acquire', { key, request })
      const { id, directory, wasSpare } = made
      const guest = liveGuest(host, made, { workspace: join(directory, 'workspace'), give: host.give })
      return {
        ...guest,
        directory,
        wasSpare,
        release: () => host.ask('release', { id }),
        destroy: () => host.ask('destroy', { id }),
      }
    },
  }
}

interface Acquired extends Created {
  readonly directory: string
  readonly wasSpare: boolean
}
