// The sandboxes that lie on this host, for whoever keeps house: seen, stopped and cleared away, whether or not a server runs. What another
// process uses is seen and left alone.
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { LeaseRow, Leases } from '../../contract/lease.ts'
import { GloveboxError } from '../../errors/error.ts'
import { backendNames } from '../../backends/registry.ts'
import { openAudit } from '../audit.ts'
import { openServedBackends, type ServedBackends } from '../server/backends.ts'
import { loadSettings } from '../settings.ts'
import { stateHome } from '../state.ts'
import { openLeases } from './leases.ts'
import { asPaused, standingOf } from './life.ts'
import { discard, sweepDiscarded } from './discard.ts'
import { openMembers, type RealMembers } from './members.ts'
import { isOpenSomewhere, readOpening, sweepOpenings, type Fence } from './opening.ts'
import { listMemberIds, memberPlace } from './place.ts'
import { readRecord, replaceRecord, type MemberRecord } from './record.ts'
import { sizeOf, type Size } from './size.ts'
import { sweepSnapshots } from './snapshot-sweep.ts'

/** `open` and `parked`: a process has it. `resting`: its files are all there is of it. `over`: its time is past. */
export type SeenState = 'open' | 'parked' | 'resting' | 'paused' | 'over' | 'damaged'

export interface SeenSandbox {
  readonly id: SandboxId
  readonly state: SeenState
  /** Null where the record is damaged. */
  readonly record: MemberRecord | null
  /** Of the process that has it. */
  readonly pid: number | null
}

export interface Keeper {
  list(): Promise<readonly SeenSandbox[]>
  size(id: SandboxId): Promise<Size>
  /** Ends what runs in it, and keeps its files; or removes them too. BUSY where another process uses it. */
  stop(id: SandboxId, options: { readonly remove: boolean }): Promise<void>
  /** What stands for nothing any more: deleted snapshots, and what was being thrown away. How many snapshots. */
  sweep(): Promise<number>
  close(): Promise<void>
}

/** `removes`: sandboxes are to go, and on a full disk even to look for them takes some room. */
export async function openKeeper(directory: string, { removes = false } = {}): Promise<Keeper> {
  const state = stateHome()
  const { leases, at } = await openLeases({ state })
  const { docker } = await loadSettings({ directory })
  const [first = '', ...others] = backendNames
  const backends = openServedBackends([first, ...others], { docker })
  const members = openBareMembers({ state, leasesAt: at }, backends)
  if (removes) members.makeRoom()

  const recorded = async (subject: string, remove: boolean, work: () => Promise<void>): Promise<void> => {
    await using audit = await openAudit(state)
    const action = remove ? 'sandbox.destroy' : 'sandbox.pause'
    await audit.perform({ actor: 'operator', action, subject }, work, { makesRoom: remove })
  }

  return {
    list: async () => {
      const rows = new Map((await leases.list()).map((row) => [row.id, row]))
      return listMemberIds(state).map((id) => see(state, id, rows.get(id)))
    },
    size: (id) => sizeOf(memberPlace(state, id)),
    stop: (id, { remove }) => recorded(id, remove, () => end({ state, leases, members, id, remove })),
    async sweep() {
      await sweepDiscarded(state)
      sweepOpenings(state)
      return sweepSnapshots(state)
    },
    async close() {
      await leases.close()
      await backends.close()
    },
  }
}

/** They open nothing, so they need no rules. */
const openBareMembers = (fence: Fence, backends: ServedBackends): RealMembers =>
  openMembers({
    ...fence,
    backends,
    layers: [],
    env: {},
    vaults: {},
    mounts: [],
    skills: undefined,
    defaults: { backend: '', layout: 'workspace', lifeMs: 1 },
    methodFor: () => Promise.reject(new GloveboxError('INTERNAL', 'Cannot make a sandbox: there is only a keeper')),
  })

function see(state: HostPath, id: SandboxId, lease: LeaseRow | undefined): SeenSandbox {
  const opening = readOpening(state, id)
  const pid = isOpenSomewhere(opening) ? (opening?.owner?.pid ?? null) : null
  let record: MemberRecord | undefined
  try {
    record = readRecord(memberPlace(state, id))
  } catch (error) {
    if (!(error instanceof GloveboxError)) throw error
  }
  if (record === undefined) return { id, state: 'damaged', record: null, pid }
  if (pid !== null) return { id, state: lease?.state === 'warm' ? 'parked' : 'open', record, pid }
  const standing = standingOf(record)
  return { id, state: standing === 'live' ? 'resting' : standing, record, pid }
}

interface Ending {
  readonly state: HostPath
  readonly leases: Leases
  readonly members: RealMembers
  readonly id: SandboxId
  readonly remove: boolean
}

async function end({ state, leases, members, id, remove }: Ending): Promise<void> {
  if (remove) members.makeRoom()
  const taken = await leases.take(id)
  if (!taken.granted) throw inUse(state, id)
  const { token } = taken
  try {
    const record = quietly(() => readRecord(memberPlace(state, id)))
    if (record === undefined && remove) return await discard(state, id)
    await members.destroy(id, { token, why: remove ? 'asked' : 'paused' })
    if (!remove && record !== undefined && record.paused_at === null)
      await replaceRecord(memberPlace(state, id), asPaused(record))
  } finally {
    await leases.drop({ id, token })
  }
}

function quietly<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof GloveboxError) return undefined
    throw error
  }
}

function inUse(state: HostPath, id: SandboxId): GloveboxError {
  const pid = readOpening(state, id)?.owner?.pid
  return new GloveboxError('BUSY', `Cannot stop ${id}: another process uses it`, {
    hint: 'Ask the server that has it: --server URL. Or end that process first.',
    ...(pid === undefined ? {} : { operatorDetail: `process ${pid}` }),
  })
}

/** By its id, or by a beginning of it that means only one. */
export function chooseSandbox(asked: string, all: readonly { readonly id: SandboxId }[]): SandboxId {
  const exact = all.find(({ id }) => id === asked)
  if (exact !== undefined) return exact.id
  const beginning = asked.startsWith('sbx_') ? asked : `sbx_${asked}`
  const [one, another] = all.filter(({ id }) => asked.length >= 3 && id.startsWith(beginning))
  if (one !== undefined && another === undefined) return one.id
  if (one !== undefined)
    throw new GloveboxError('INVALID_INPUT', `Cannot tell which sandbox "${asked}" means: several begin so`)
  throw new GloveboxError('NOT_FOUND', `Cannot find the sandbox "${asked}": there is none of that name`, {
    hint: isSandboxId(asked) ? '`glovebox ps` shows what is here.' : 'Ids begin with sbx_; `glovebox ps` shows them.',
  })
}
