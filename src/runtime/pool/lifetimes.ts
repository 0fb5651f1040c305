// What can be done with a member beside using it: its end moved, its files kept while all else is given back, its files as they are kept
// under a name or given to others. All of it is done by the process that has the member's lease, and on the disk before it is told.
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Pool } from '../../pool/pool.ts'
import type { Work } from '../../pool/ports.ts'
import { asPaused, asRenewed, oldestAt } from './life.ts'
import type { Member } from './member.ts'
import type { MemberRecord } from './record.ts'
import type { MemberRequest } from './request.ts'
import {
  deleteSnapshot,
  findSnapshot,
  mostLayers,
  newSnapshotId,
  takeSnapshot,
  type Method,
  type SnapshotId,
  type SnapshotRecord,
} from './snapshots.ts'
import { sweepSnapshots } from './snapshot-sweep.ts'
import type { RealMembers } from './members.ts'

export interface Lifetimes {
  /** Opens it if it is not open here. While it is changed, this waits. */
  live(id: SandboxId): Promise<Member>
  /** Opened, and changed by one after another: each finds the record as the one before has left it. */
  inTurn<Value>(id: SandboxId, work: (member: Member) => Promise<Value>): Promise<Value>
  /** BUSY while something runs in it. Asked within a turn, since something may begin at any other time. */
  requireQuiet(id: SandboxId, doing: string): void
  /** Within a turn: its boundary is closed before, and opened behind. Meanwhile nobody else has it, and it does not end by its age. */
  whileShut<Value>(member: Member, change: (work: Work) => Promise<Value>): Promise<Value>
  /** POLICY_ESCALATION where it would grow older than the operator allows. One that is not there may be made. */
  checkAge(id: SandboxId, lifeMs: number): void
  /** Its age is checked, too. */
  renew(id: SandboxId, lifeMs: number): Promise<void>
  /** Ends what runs. A paused one stays as it is. */
  pause(id: SandboxId): Promise<void>
  /** BUSY while something runs in it. One that is there under the id already is the answer. */
  snapshot(id: SandboxId, asked: SnapshotAsked): Promise<SnapshotRecord>
  /** With its files, behind whatever is being done with them. */
  destroy(id: SandboxId, options?: Parameters<Pool<Member, MemberRequest>['destroy']>[1]): Promise<void>
  /** New members that begin with its files and its wishes. BUSY while something runs in it. */
  fork(id: SandboxId, asked: ForkAsked): Promise<readonly Member[]>
}

export interface SnapshotAsked {
  readonly name: string | null
  /** Whose quota it counts for. Default: nobody's. */
  readonly tokenId?: string | undefined
  readonly snapshotId?: SnapshotId | undefined
}

export interface ForkAsked {
  readonly count: number
  /** As many as that, which nobody else has. Default: ids of chance. */
  readonly ids?: readonly SandboxId[] | undefined
  readonly lifeMs?: number | undefined
  readonly tokenId: string
}

export interface LifetimesOptions {
  readonly state: HostPath
  readonly pool: Pool<Member, MemberRequest>
  readonly members: RealMembers
  readonly methodFor: (backend: string) => Promise<Method>
  readonly maxAgeMs?: number | undefined
}

export function openLifetimes({ state, pool, members, methodFor, maxAgeMs }: LifetimesOptions): Lifetimes {
  const changing = new Map<SandboxId, Promise<unknown>>()

  const opened = async (id: SandboxId): Promise<Member> => {
    const here = pool.use(id)
    return here !== undefined && !here.isOver ? here : (await pool.open(id)).handle
  }
  const oneAtATime = async <Value>(id: SandboxId, work: () => Promise<Value>): Promise<Value> => {
    // With nothing awaited between the last look and the taking: of several who wait for the same end, one is next.
    while (changing.has(id)) await changing.get(id)?.catch(() => {})
    const done = work()
    changing.set(id, done)
    try {
      return await done
    } finally {
      changing.delete(id)
    }
  }
  const inTurn: Lifetimes['inTurn'] = (id, work) => oneAtATime(id, async () => work(await opened(id)))
  const requireQuiet = (id: SandboxId, doing: string): void => {
    const works = pool.list().find((each) => each.id === id)?.works ?? 0
    if (works === 0) return
    throw new GloveboxError('BUSY', `Cannot ${doing}: something runs in the sandbox`, {
      hint: 'Wait until it has ended, or end it.',
      facts: { retryAfterSeconds: 1 },
    })
  }

  /** Its life may have ended meanwhile, or end while it is opened: then nobody would close it. */
  const openIfHere = async (member: Member): Promise<void> => {
    const isHere = (): boolean => pool.find(member.id) === member
    if (!isHere() || member.isOver) return
    try {
      await member.open()
    } finally {
      if (!isHere()) await member.shut()
    }
  }

  const whileShut: Lifetimes['whileShut'] = async (member, change) => {
    // Else it would be taken for idle, or for dead, or end in the middle.
    const work = member.tenure.begin({ isAlone: true })
    try {
      // What is mounted cannot be moved from under its mount; and guards put files of their own among the guest's.
      await member.shut()
      return await change(work)
    } finally {
      await openIfHere(member).finally(() => work.end())
    }
  }

  const carry = async (member: Member, { name, tokenId, snapshotId }: SnapshotAsked): Promise<SnapshotRecord> => {
    const possible = await methodFor(member.record.backend)
    const isDeep = member.record.layers.length >= mostLayers
    const method: Method = isDeep ? { by: 'copy', why: `it stands on ${mostLayers} layers` } : possible
    requireQuiet(member.id, 'take the files as they are')
    return whileShut(member, async (work) => {
      const asked = { id: snapshotId, member: member.record, name, tokenId, method }
      const taken = await takeSnapshot(state, { ...asked, isLost: () => work.isLost })
      await member.keep(taken.member)
      return taken.snapshot
    })
  }

  const checkAge = (id: SandboxId, lifeMs: number): void => {
    const record = members.read(id)
    if (record === undefined || members.hasEnded(record)) return
    const leftMs = oldestAt(record, maxAgeMs) - Date.now()
    if (lifeMs > leftMs) throw tooOld({ lifeMs, leftMs, record, maxAgeMs })
  }

  return {
    async live(id) {
      while (changing.has(id)) await changing.get(id)?.catch(() => {})
      return opened(id)
    },
    inTurn,
    requireQuiet,
    whileShut,
    checkAge,
    async renew(id, lifeMs) {
      checkAge(id, lifeMs)
      await inTurn(id, (member) => member.keep(asRenewed(member.record, { lifeMs, maxAgeMs })))
    },
    pause: (id) =>
      oneAtATime(id, async () => {
        if (members.read(id)?.paused_at !== null) return
        const member = await opened(id)
        await member.keep(asPaused(member.record, { maxAgeMs }))
        await pool.rest(id)
      }),
    snapshot: (id, asked) =>
      inTurn(id, async (member) => findSnapshot(state, asked.snapshotId ?? '') ?? (await carry(member, asked))),
    destroy: (id, options) =>
      oneAtATime(id, () => {
        members.makeRoom()
        return pool.destroy(id, options)
      }),
    async fork(id, { count, ids, lifeMs, tokenId }) {
      const snapshotId = newSnapshotId()
      const made: Member[] = []
      try {
        const record = await inTurn(id, async (member) => {
          await carry(member, { name: null, snapshotId })
          return member.record
        })
        for (let index = 0; index < count; index++) {
          const request: MemberRequest = {
            project: record.project,
            tokenId,
            metadata: record.metadata,
            backend: record.backend,
            layout: record.layout,
            policy: record.policy ?? undefined,
            env: record.env,
            cwd: record.cwd ?? undefined,
            mounts: record.mounts.map(({ mode, ...mount }) => (mode === undefined ? mount : { ...mount, mode })),
            provisioned: record.provisioned,
            lifeMs: lifeMs ?? record.life_ms,
            atEnd: record.at_end,
            snapshot: snapshotId,
          }
          made.push((await pool.acquire(undefined, { id: ids?.[index], request })).handle)
        }
        return made
      } catch (error) {
        await Promise.allSettled(made.map((member) => pool.destroy(member.id)))
        throw error
      } finally {
        // The new ones stand on it, or have copied it; where nothing came of them, nobody else knows of it.
        const snapshot = findSnapshot(state, snapshotId)
        if (snapshot !== undefined) {
          await deleteSnapshot(state, snapshot)
          await sweepSnapshots(state)
        }
      }
    },
  }
}

interface Age {
  readonly lifeMs: number
  readonly leftMs: number
  readonly record: MemberRecord
  readonly maxAgeMs: number | undefined
}

function tooOld({ lifeMs, leftMs, record, maxAgeMs }: Age): GloveboxError {
  const until = new Date(oldestAt(record, maxAgeMs)).toISOString()
  const allowed = Math.max(0, leftMs)
  return new GloveboxError('POLICY_ESCALATION', `Cannot renew the sandbox: it may live until ${until} and no longer`, {
    hint: `Ask for a lifeMs of at most ${allowed}. What is needed for longer can be kept as a snapshot, which another sandbox begins with.`,
    facts: { field: 'lifeMs', asked: lifeMs, allowed, limit: 'maxAgeMs', until },
  })
}
