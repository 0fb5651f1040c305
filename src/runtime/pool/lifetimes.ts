// What can be done with a member beside using it: its end moved, its files kept while all else is given back, its files as they are kept
// under a name or given to others. All of it is done by the process that has the member's lease, and on the disk before it is told.
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Pool } from '../../pool/pool.ts'
import { asPaused, asRenewed, oldestAt } from './life.ts'
import type { Member } from './member.ts'
import type { MemberRecord } from './record.ts'
import type { MemberRequest } from './request.ts'
import {
  deleteSnapshot,
  mostLayers,
  sweepSnapshots,
  takeSnapshot,
  type Method,
  type SnapshotRecord,
} from './snapshots.ts'
import type { RealMembers } from './members.ts'

export interface Lifetimes {
  /** Opens it if it is not open here. While its files are carried away, this waits. */
  live(id: SandboxId): Promise<Member>
  /** With nobody else at it until it is done. BUSY while something runs in it. */
  alone<Value>(id: SandboxId, work: (member: Member) => Promise<Value>, doing?: string): Promise<Value>
  /** POLICY_ESCALATION where it would grow older than the operator allows. One that is not there may be made. */
  checkAge(id: SandboxId, lifeMs: number): void
  /** Its age is checked, too. */
  renew(id: SandboxId, lifeMs: number): Promise<void>
  /** Ends what runs. A paused one stays as it is. */
  pause(id: SandboxId): Promise<void>
  /** BUSY while something runs in it. */
  snapshot(id: SandboxId, name: string | null): Promise<SnapshotRecord>
  /** New members that begin with its files and its wishes. BUSY while something runs in it. */
  fork(id: SandboxId, asked: ForkAsked): Promise<readonly Member[]>
}

export interface ForkAsked {
  readonly count: number
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

  const live = async (id: SandboxId): Promise<Member> => {
    await changing.get(id)?.catch(() => {})
    const here = pool.use(id)
    return here !== undefined && !here.isOver ? here : (await pool.open(id)).handle
  }

  const alone: Lifetimes['alone'] = async (id, work, doing = 'take the files as they are') => {
    const member = await live(id)
    requireQuiet(id, doing)
    const done = work(member)
    changing.set(id, done)
    try {
      return await done
    } finally {
      changing.delete(id)
    }
  }
  const requireQuiet = (id: SandboxId, doing: string): void => {
    const works = pool.list().find((each) => each.id === id)?.works ?? 0
    if (works === 0) return
    throw new GloveboxError('BUSY', `Cannot ${doing}: something runs in the sandbox`, {
      hint: 'Wait until it has ended, or end it.',
      facts: { retryAfterSeconds: 1 },
    })
  }

  const carry = async (member: Member, name: string | null): Promise<SnapshotRecord> => {
    const possible = await methodFor(member.record.backend)
    const isDeep = member.record.layers.length >= mostLayers
    const method: Method = isDeep ? { by: 'copy', why: `it stands on ${mostLayers} layers` } : possible
    // What is mounted cannot be moved from under its mount; and guards put files of their own among the guest's.
    await member.shut()
    try {
      const taken = await takeSnapshot(state, { member: member.record, name, method })
      await member.keep(taken.member)
      return taken.snapshot
    } finally {
      await member.open()
    }
  }

  const checkAge = (id: SandboxId, lifeMs: number): void => {
    const record = members.read(id)
    if (record === undefined || members.hasEnded(record)) return
    const leftMs = oldestAt(record, maxAgeMs) - Date.now()
    if (lifeMs > leftMs) throw tooOld({ lifeMs, leftMs, record, maxAgeMs })
  }

  return {
    live,
    alone,
    checkAge,
    async renew(id, lifeMs) {
      checkAge(id, lifeMs)
      const member = await live(id)
      await member.keep(asRenewed(member.record, { lifeMs, maxAgeMs }))
    },
    async pause(id) {
      if (members.read(id)?.paused_at !== null) return
      const member = await live(id)
      await member.keep(asPaused(member.record, { maxAgeMs }))
      await pool.rest(id)
    },
    snapshot: (id, name) => alone(id, (member) => carry(member, name)),
    async fork(id, { count, lifeMs, tokenId }) {
      const { snapshot, record } = await alone(id, async (member) => ({
        snapshot: await carry(member, null),
        record: member.record,
      }))
      const made: Member[] = []
      try {
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
            snapshot: snapshot.id,
          }
          made.push((await pool.acquire(undefined, { request })).handle)
        }
        return made
      } catch (error) {
        await Promise.allSettled(made.map((member) => pool.destroy(member.id)))
        throw error
      } finally {
        // The new ones stand on it, or have copied it.
        await deleteSnapshot(state, snapshot)
        sweepSnapshots(state, members.records())
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
