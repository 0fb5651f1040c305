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
import type { Reservation } from '../../pool/pool.ts'
import type { PoolStats } from '../../pool/snapshot.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { LayoutName } from '../pool/layout.ts'
import { firstProvision, type MountOffers, type NamedMount, type ProvisionRequest } from '../pool/offers.ts'
import type { ForkAsked } from '../pool/lifetimes.ts'
import type { RealPool } from '../pool/open.ts'
import { memberPlace } from '../pool/place.ts'
import type { Ending, MemberRecord } from '../pool/record.ts'
import { sizeOf, type Size } from '../pool/size.ts'
import type { Ahead } from '../pool/spares.ts'
import type { MountRequest } from '../mount-text.ts'
import type { VaultRequests } from '../secrets.ts'
import { requireAllowed } from './caller-mounts.ts'
import type { AtWork } from './at-work.ts'
import type { HostedCommands } from './commands.ts'
import { forkIds } from './fork-ids.ts'
import { createHosting, type Hosted } from './hosted.ts'
import { checkedId, openMadeBefore } from './made-before.ts'
import { openProvisioning } from './provisioning.ts'
import { admittance, type SandboxLimits } from './quota.ts'
import { isWanted, pageOf } from './sandbox-pages.ts'
import { gone, stopping } from './sandbox-refusals.ts'
import type { ShellCommands } from './shell-commands.ts'
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
  /** As it was reserved. One without a key that lies under it already was made by an earlier sending of the request, and is the answer. */
  readonly id?: string | undefined
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

export interface ForkRequest extends Omit<ForkAsked, 'ids'> {
  /** The ids of all follow from it. Where all of them lie there, they were made by an earlier sending of the request. */
  readonly seed?: string | undefined
}

/** What it costs the host now; what nobody counts is absent. */
export interface SandboxUsage extends BoundaryUsage {
  readonly disk: Size
}

export interface SandboxHouse {
  /** The id that the sandbox of a request will have, before it is made. */
  reserve(request: Pick<HostRequest, 'project' | 'key'>): Reservation
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
  fork(id: string, asked: ForkRequest): Promise<readonly HostedSandbox[]>
  /** Does not open it. */
  usage(id: string): Promise<SandboxUsage>
  stats(): PoolStats
  /** What is made ahead of its use. */
  readonly ahead: Ahead
  readonly size: number
  /** Of their shells. */
  readonly shellCommands: ShellCommands
  /** Commands at work in all of them. */
  readonly busy: number
  /** The same, and whatever else is under way in or for one of them. */
  readonly atWork: number
  close(): Promise<void>
}

export interface HouseOptions extends RealPool {
  readonly state: HostPath
  readonly limits: SandboxLimits
  readonly mountRoots: readonly string[]
  readonly offers: MountOffers
  readonly vaults: VaultRequests
  readonly work: AtWork
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
  const { pool, members, lifetimes, limits, work } = options
  const admit = admittance({
    most: limits.perToken,
    count: (tokenId) => members.count(({ token_id: owner }) => owner === tokenId),
    what: 'sandboxes',
    work,
  })
  const turns = openTurns(limits.making)
  const hosting = createHosting(options)
  const provision = openProvisioning(options)
  const madeBefore = openMadeBefore(options)
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
    const { project, key, id, mounts, offered = [], ...rest } = request
    requireAllowed(mounts ?? [], options.mountRoots)
    const provisioned = offered.length === 0 ? undefined : firstProvision(offered, options.offers, project)
    const asked: SandboxKey | undefined = key === undefined ? undefined : { user: project, thread: key }
    // Before anything is opened for somebody who is refused.
    if (asked !== undefined && request.lifeMs !== undefined) lifetimes.checkAge(idOfKey(asked), request.lifeMs)
    const { handle, source } = await pool.acquire(asked, {
      id: checkedId(id),
      request: { ...rest, project, mounts, provisioned },
    })
    const isNew = source === 'created' && handle.isNew
    if (!isNew && request.lifeMs !== undefined) await lifetimes.renew(handle.id, request.lifeMs)
    return { hosted: hostedOf(handle.record), isNew, settled: handle.settled }
  }

  return {
    reserve: ({ project, key }) =>
      key === undefined
        ? pool.reserve()
        : { id: idOfKey({ user: project, thread: key }), giveBack: () => Promise.resolve() },
    async acquire(request) {
      checkLife(request.lifeMs)
      if (isClosed) throw stopping()
      const before = request.key === undefined ? await madeBefore.find(request.id) : undefined
      if (before !== undefined) return { hosted: hostedOf(before), isNew: false }
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
      await lifetimes.destroy(id)
      hosting.forget(id)
    },
    async renew(id, lifeMs) {
      checkLife(lifeMs)
      await lifetimes.renew(idOf(id), lifeMs)
      hosting.schedule(idOf(id))
    },
    pause: (id) => lifetimes.pause(idOf(id)),
    resume: async (id) => void (await lifetimes.live(idOf(id))),
    provision: async (id, asked) => work.during(() => provision(idOf(id), asked)),
    async fork(id, { seed, ...asked }) {
      checkLife(asked.lifeMs)
      const ids = seed === undefined ? undefined : forkIds(seed, asked.count)
      const before = ids === undefined ? undefined : await madeBefore.findAll(ids)
      if (before !== undefined) return before.map(hostedOf)
      const leave = admit(asked.tokenId, asked.count)
      try {
        return (await lifetimes.fork(idOf(id), { ...asked, ids })).map(({ record }) => hostedOf(record))
      } finally {
        leave()
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
    shellCommands: hosting.shellCommands,
    get busy() {
      return hosting.busy
    },
    get atWork() {
      return hosting.atWork
    },
    async close() {
      isClosed = true
      await hosting.close()
      await pool.shutdown()
    },
  }
}
