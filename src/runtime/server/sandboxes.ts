// Sandboxes that a server keeps and that are used over the wire. Each belongs to a project, lies in a directory of its own, and is open
// while it is used: one that nobody uses for a while gives back all but its files, and comes back with the next use, also after the
// server was started anew. It ends when somebody ends it, or when its life is over.
import { setTimeout as delay } from 'node:timers/promises'
import type { BoundaryUsage } from '../../contract/backend.ts'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { PolicyValues } from '../../contract/policy.ts'
import type { SandboxKey } from '../../contract/provider.ts'
import type { Provisioned, Sandbox } from '../../contract/sandbox.ts'
import type { Page, PageRequest } from '../../contract/store.ts'
import { idOfKey } from '../../pool/ids.ts'
import type { PoolStats } from '../../pool/snapshot.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { LayoutName } from '../pool/layout.ts'
import { firstProvision, type MountOffers, type NamedMount, type ProvisionRequest } from '../pool/offers.ts'
import type { RealPool } from '../pool/open.ts'
import { memberPlace } from '../pool/place.ts'
import type { Ending, MemberRecord } from '../pool/record.ts'
import { sizeOf, type Size } from '../pool/size.ts'
import type { Ahead } from '../pool/spares.ts'
import type { MountRequest } from '../mount-text.ts'
import type { VaultRequests } from '../secrets.ts'
import { requireAllowed } from './caller-mounts.ts'
import type { HostedCommands } from './commands.ts'
import { createHosting, type Hosted } from './hosted.ts'
import { openProvisioning } from './provisioning.ts'
import { admittance, type SandboxLimits } from './quota.ts'
import { openTurns } from './turns.ts'

export { defaultSandboxLimits, type SandboxLimits } from './quota.ts'

/** `active`: open here. `warm`: parked here. `resting`: its files are there, or another process has it. */
export type SandboxState = 'active' | 'warm' | 'resting' | 'paused'

export interface HostedSandbox {
  readonly id: SandboxId
  readonly project: string
  readonly tokenId: string
  readonly key: string | null
  readonly name: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly backend: string
  readonly state: SandboxState
  readonly createdAt: string
  readonly expiresAt: string
  /** Using it opens it where it rests. */
  readonly sandbox: Sandbox
  readonly commands: HostedCommands
  /** Counts what is brought in; QUOTA_EXCEEDED when it is too much. */
  readonly takeUpload: (bytes: number) => void
}

export interface HostRequest {
  readonly project: string
  readonly tokenId: string
  /** The same key gives the same sandbox. */
  readonly key?: string | undefined
  readonly name?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly backend?: string | undefined
  readonly policy?: PolicyValues | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
  readonly layout?: LayoutName | undefined
  /** Of this host, below the roots that the operator allows. */
  readonly mounts?: readonly MountRequest[] | undefined
  /** By the names under which the operator offers them. */
  readonly offered?: readonly NamedMount[] | undefined
  readonly snapshot?: string | undefined
  readonly lifeMs?: number | undefined
  readonly atEnd?: Ending | undefined
  /** Of somebody who asks for many beside others: nothing is started for its first command before that comes. */
  readonly isUnhurried?: boolean | undefined
}

export interface SandboxFilter {
  readonly project?: string | undefined
  /** All of these. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly states?: readonly SandboxState[] | undefined
}

/** What it costs the host now; what nobody counts is absent. */
export interface SandboxUsage extends BoundaryUsage {
  readonly disk: Size
}

export interface SandboxHouse {
  /** `isNew` is false where the key had one already. */
  acquire(request: HostRequest): Promise<{ readonly hosted: HostedSandbox; readonly isNew: boolean }>
  /** From memory, or from the disk where it rests. */
  find(id: string): HostedSandbox | undefined
  list(filter: SandboxFilter, page: PageRequest): Page<HostedSandbox>
  /** Parks it: the next use takes it back with no start. */
  release(id: string): Promise<void>
  destroy(id: string): Promise<void>
  /** Its life ends so long from now. */
  renew(id: string, lifeMs: number): Promise<void>
  /** Ends what runs, and keeps the files. */
  pause(id: string): Promise<void>
  resume(id: string): Promise<void>
  /** Other mounts and vaults, of those that the operator offers. BUSY while something runs in it. */
  provision(id: string, asked: ProvisionRequest): Promise<Provisioned>
  fork(
    id: string,
    asked: { readonly count: number; readonly lifeMs?: number | undefined; readonly tokenId: string },
  ): Promise<readonly HostedSandbox[]>
  /** Does not open it. */
  usage(id: string): Promise<SandboxUsage>
  stats(): PoolStats
  /** What is made ahead of its use. */
  readonly ahead: Ahead
  readonly size: number
  /** Commands at work in all of them. */
  readonly busy: number
  close(): Promise<void>
}

export interface HouseOptions extends RealPool {
  readonly state: HostPath
  readonly limits: SandboxLimits
  readonly mountRoots: readonly string[]
  readonly offers: MountOffers
  readonly vaults: VaultRequests
}

interface Made {
  readonly hosted: HostedSandbox
  readonly isNew: boolean
  /** When the host has done what it began for it. */
  readonly settled: Promise<void>
}

/** One that does not come to stand must not keep others from being made. */
const patienceMs = 1000

const withinPatience = (settled: Promise<void> | undefined): Promise<void> =>
  settled === undefined ? Promise.resolve() : Promise.race([settled, delay(patienceMs, undefined, { ref: false })])

export function openSandboxHouse(options: HouseOptions): SandboxHouse {
  const { pool, members, lifetimes, limits } = options
  const admit = admittance(limits, members)
  const turns = openTurns(limits.making)
  const hosting = createHosting(options)
  const provision = openProvisioning(options)
  let isClosed = false
  // Quotas count them from the first request on.
  members.records()

  const checkLife = (lifeMs: number | undefined): void => {
    const allowed = Math.min(limits.maxLifeMs, limits.maxAgeMs)
    if ((lifeMs ?? 0) <= allowed) return
    throw new GloveboxError('POLICY_ESCALATION', `Cannot give the sandbox its time: lifeMs is above ${allowed}`, {
      facts: { field: 'lifeMs', asked: lifeMs, allowed },
    })
  }
  const hostedOf = (record: MemberRecord): Hosted => hosting.hosted(record)
  const idOf = (id: string): SandboxId => {
    const found = isSandboxId(id) ? members.read(id) : undefined
    if (found === undefined || members.hasEnded(found)) throw gone()
    return found.id
  }

  const make = async (request: HostRequest): Promise<Made> => {
    const { project, key, mounts, offered = [], ...rest } = request
    requireAllowed(mounts ?? [], options.mountRoots)
    const provisioned = offered.length === 0 ? undefined : firstProvision(offered, options.offers, project)
    const asked: SandboxKey | undefined = key === undefined ? undefined : { user: project, thread: key }
    // Before anything is opened for somebody who is refused.
    if (asked !== undefined && request.lifeMs !== undefined) lifetimes.checkAge(idOfKey(asked), request.lifeMs)
    const { handle, source } = await pool.acquire(asked, { request: { ...rest, project, mounts, provisioned } })
    const isNew = source === 'created' && handle.isNew
    if (!isNew && request.lifeMs !== undefined) await lifetimes.renew(handle.id, request.lifeMs)
    return { hosted: hostedOf(handle.record), isNew, settled: handle.settled }
  }

  return {
    async acquire(request) {
      checkLife(request.lifeMs)
      if (isClosed) throw stopping()
      const leave = admit(request.tokenId)
      const giveTurn = await turns.take(request.tokenId)
      let settled: Promise<void> | undefined
      try {
        const made = await make(request)
        settled = made.settled
        return { hosted: made.hosted, isNew: made.isNew }
      } finally {
        void withinPatience(settled).then(giveTurn)
        leave()
      }
    },
    find(id) {
      if (!isSandboxId(id)) return undefined
      const record = pool.find(id)?.record ?? members.read(id)
      if (record === undefined || members.hasEnded(record)) {
        hosting.forget(id)
        return undefined
      }
      return hostedOf(record)
    },
    list(filter, page) {
      const there = members.records().filter((record) => !members.hasEnded(record))
      const wanted = there.filter((record) => isWanted(record, filter, (one) => hosting.stateOf(one)))
      const { rows, next } = pageOf(wanted, page)
      return { rows: rows.map(hostedOf), next }
    },
    release: async (id) => pool.release(idOf(id)),
    async destroy(id) {
      if (!isSandboxId(id)) return
      await pool.destroy(id)
      hosting.forget(id)
    },
    async renew(id, lifeMs) {
      checkLife(lifeMs)
      await lifetimes.renew(idOf(id), lifeMs)
      hosting.schedule(idOf(id))
    },
    pause: (id) => lifetimes.pause(idOf(id)),
    resume: async (id) => void (await lifetimes.live(idOf(id))),
    provision: async (id, asked) => provision(idOf(id), asked),
    async fork(id, asked) {
      checkLife(asked.lifeMs)
      const leaves = Array.from({ length: asked.count }, () => admit(asked.tokenId))
      try {
        return (await lifetimes.fork(idOf(id), asked)).map(({ record }) => hostedOf(record))
      } finally {
        for (const leave of leaves) leave()
      }
    },
    async usage(id) {
      const known = idOf(id)
      const here = pool.find(known) ?? pool.list().find((each) => each.id === known)?.handle
      const [running, disk] = await Promise.all([here?.usage() ?? {}, sizeOf(memberPlace(options.state, known))])
      return { ...running, disk }
    },
    stats: () => pool.stats(),
    get ahead() {
      return members.spares.ahead
    },
    get size() {
      return pool.list().length
    },
    get busy() {
      return hosting.busy
    },
    async close() {
      isClosed = true
      hosting.close()
      await pool.shutdown()
    },
  }
}

function isWanted(
  record: MemberRecord,
  { project, metadata = {}, states }: SandboxFilter,
  stateOf: (record: MemberRecord) => SandboxState,
): boolean {
  if (project !== undefined && record.project !== project) return false
  if (!Object.entries(metadata).every(([name, value]) => record.metadata[name] === value)) return false
  return states === undefined || states.includes(stateOf(record))
}

/** Newest first, as the store has it. */
function pageOf(all: readonly MemberRecord[], { limit, after }: PageRequest): Page<MemberRecord> {
  const keyOf = ({ created_at: at, id }: Pick<MemberRecord, 'created_at'> & { readonly id: string }): string =>
    `${at} ${id}`
  const behind = after === undefined ? undefined : keyOf(after)
  const found = all
    .filter((one) => behind === undefined || keyOf(one) < behind)
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1))
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > rows.length && last !== undefined
  return { rows, next: hasMore ? { created_at: last.created_at, id: last.id } : null }
}

/** As the routes tell it: a client must be able to tell a sandbox that is gone from a file that is not there. */
const gone = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot find the sandbox: there is none with that name', {
    facts: { what: 'sandbox' },
  })

const stopping = (): GloveboxError =>
  new GloveboxError('DRAINING', 'Cannot create the sandbox: the server is about to stop', {
    facts: { retryAfterSeconds: 1 },
  })
