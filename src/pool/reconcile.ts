// The pass over what nobody has: members that run without an owner, left by a server that crashed, and leases without a member. They
// are taken away when they were seen like that for the grace period, and only under a lease that nobody holds: so a member of a
// living server is never touched, however the lists were read. Being looked at is no use of a member.
import type { SandboxId } from '../contract/ids.ts'
import type { LeaseRow, Leases } from '../contract/lease.ts'
import { fewAtOnce } from './few-at-once.ts'
import type { MemberInfo } from './ports.ts'
import type { Room } from './seats.ts'

export interface Reconciler {
  pass(): Promise<void>
}

/** A member that changes hands in between has another token, and its grace begins anew. */
interface Suspect {
  readonly token: number | undefined
  readonly sinceMs: number
}

export function createReconciler<Handle, Request>(room: Room<Handle, Request>, leases: Leases): Reconciler {
  const suspects = new Map<SandboxId, Suspect>()

  const isRipe = (id: SandboxId, token: number | undefined, graceMs: number): boolean => {
    const known = suspects.get(id)
    const nowMs = room.clock.nowMs()
    // Somebody who came with another key and was refused has left no lease: that is no new owner.
    const isKnown = known !== undefined && (token === undefined || token === known.token)
    const sinceMs = isKnown ? known.sinceMs : nowMs
    if (!isKnown) suspects.set(id, { token, sinceMs })
    return nowMs - sinceMs >= graceMs
  }

  const takeAway = async (id: SandboxId): Promise<void> => {
    if (room.seats.has(id)) return
    const tenure = await room.holdings.condemnUnowned(id)
    if (tenure === undefined) return
    try {
      // The list is old by now; what is found under the lease stays as it is.
      const why = reasonToEnd(await room.members.find(id))
      if (why !== undefined) {
        await room.members.destroy(id, { token: tenure.token, why })
        room.counts.ended[why] += 1
      }
      suspects.delete(id)
    } finally {
      await room.holdings.drop(tenure)
    }
  }

  const look = async (id: SandboxId, member: MemberInfo | undefined, lease: LeaseRow | undefined): Promise<void> => {
    const why = reasonToEnd(member)
    const isOwned = lease !== undefined && !lease.isOver
    const isLeftover = why !== undefined || lease !== undefined
    if (isOwned || !isLeftover || room.seats.has(id) || room.turns.isBusy(id)) suspects.delete(id)
    else if (isRipe(id, lease?.token, why === 'expired' ? 0 : room.limits.graceMs))
      await room.turns.take(id, () => takeAway(id)).catch(() => {})
  }

  return {
    async pass() {
      const members = new Map((await room.members.list()).map((member) => [member.id, member]))
      const rows = new Map((await leases.list()).map((row) => [row.id, row]))
      for (const id of suspects.keys()) if (!members.has(id) && !rows.has(id)) suspects.delete(id)
      const ids = new Set([...members.keys(), ...rows.keys()])
      await fewAtOnce(ids, (id) => look(id, members.get(id), rows.get(id)))
    },
  }
}

/** Files alone cost nothing, and stay. */
const reasonToEnd = (member: MemberInfo | undefined): 'expired' | 'orphan' | undefined =>
  member?.isOver === true ? 'expired' : member?.isRunning === true ? 'orphan' : undefined
