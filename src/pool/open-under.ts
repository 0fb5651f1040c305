// Opening a member under a lease that was just granted: one that runs already is discovered, otherwise it is created over what lies
// under its id. Whatever goes wrong, the lease and the place are given back.
import type { SandboxId } from '../contract/ids.ts'
import type { SandboxKey } from '../contract/provider.ts'
import type { Source } from './counts.ts'
import { isSameKey } from './ids.ts'
import type { Ending, MemberInfo, Opening } from './ports.ts'
import { collision, isLeaseLost, lost, notThere } from './refusals.ts'
import type { Room } from './seats.ts'
import type { HeldTenure } from './tenure.ts'

export interface Wish<Request> {
  readonly id: SandboxId
  /** Undefined: whatever key it has; it is not made where it is not. */
  readonly key: SandboxKey | null | undefined
  readonly request: Request | undefined
  readonly untilMs: number
  readonly signal: AbortSignal | undefined
  /** Of a lease that is there already, for an id that nobody ever had. */
  readonly tenure?: HeldTenure | undefined
}

export interface Borrowed<Handle> {
  readonly id: SandboxId
  readonly handle: Handle
  readonly source: Source
}

/** Undefined: somebody else has it at the moment. */
export type Tried<Handle> = Borrowed<Handle> | undefined

export interface OpeningUnder extends Opening {
  readonly tenure: HeldTenure
}

export async function openUnder<Handle, Request>(
  room: Room<Handle, Request>,
  wish: Wish<Request>,
  opening: OpeningUnder,
): Promise<Tried<Handle>> {
  const { tenure } = opening
  try {
    const found = opening.isUnheardOf === true ? undefined : await usableRemains(room, wish, opening)
    await requireOurs(room, tenure)
    const { handle, source } = await discoverOrCreate(room, wish, opening, found)
    if (await isKept(room, tenure, handle)) return seated(room, wish, { tenure, handle, source, found })
  } catch (error) {
    await giveBack(room, tenure)
    // Somebody came after us while this process slept: that is theirs now, and worth another try.
    if (isLeaseLost(error)) return undefined
    throw error
  }
  room.counts.lost += 1
  await giveBack(room, tenure)
  return undefined
}

/** What lies under the id and may be opened, after what may not was taken away. */
async function usableRemains<Handle, Request>(
  room: Room<Handle, Request>,
  { id, key }: Wish<Request>,
  { tenure, former }: OpeningUnder,
): Promise<MemberInfo | undefined> {
  const { members, counts } = room
  const takeAway = async (why: Ending): Promise<void> => {
    await requireOurs(room, tenure)
    await members.destroy(id, { token: tenure.token, why })
    counts.ended[why] += 1
  }
  // Whoever was about to destroy it did not come to the end.
  if (former.was !== 'none' && former.state === 'destroying') await takeAway('orphan')
  const found = await members.find(id)
  if (found === undefined) return undefined
  if (key !== undefined && !isSameKey(found.key, key)) throw collision()
  if (!found.isOver) return found
  await takeAway('expired')
  return undefined
}

async function discoverOrCreate<Handle, Request>(
  { members }: Room<Handle, Request>,
  { id, key, request }: Wish<Request>,
  opening: OpeningUnder,
  found: MemberInfo | undefined,
): Promise<{ readonly handle: Handle; readonly source: Source }> {
  if (found === undefined && key === undefined) throw notThere()
  if (found?.isRunning === true) {
    const handle = await members.attach(id, opening)
    if (handle !== undefined) return { handle, source: 'discovered' }
  }
  const keyOfMember = key === undefined ? (found?.key ?? null) : key
  return { handle: await members.create(id, { ...opening, key: keyOfMember, request }), source: 'created' }
}

const isStillOurs = async <Handle, Request>(
  { holdings }: Room<Handle, Request>,
  tenure: HeldTenure,
): Promise<boolean> => tenure.isUsable() || (await holdings.renew(tenure))

/** A handle that does not become a seat is let go of. */
async function isKept<Handle, Request>(
  room: Room<Handle, Request>,
  tenure: HeldTenure,
  handle: Handle,
): Promise<boolean> {
  let isOurs = false
  try {
    isOurs = await isStillOurs(room, tenure)
    return isOurs
  } finally {
    if (!isOurs) await room.members.detach(handle).catch(() => {})
  }
}

/** Before each thing that cannot be undone: members refuse whoever comes too late, but not all of them can at every moment. */
async function requireOurs<Handle, Request>(room: Room<Handle, Request>, tenure: HeldTenure): Promise<void> {
  if (!(await isStillOurs(room, tenure))) throw lost()
}

function seated<Handle, Request>(
  room: Room<Handle, Request>,
  { id, key }: Wish<Request>,
  made: {
    readonly tenure: HeldTenure
    readonly handle: Handle
    readonly source: Source
    readonly found: MemberInfo | undefined
  },
): Borrowed<Handle> {
  const { tenure, handle, source, found } = made
  tenure.touch()
  room.seats.set(id, {
    id,
    key: key === undefined ? (found?.key ?? null) : key,
    handle,
    tenure,
    isParkWished: false,
    isParkOwed: false,
    leaving: undefined,
  })
  return { id, handle, source }
}

async function giveBack<Handle, Request>(
  { holdings, places }: Room<Handle, Request>,
  tenure: HeldTenure,
): Promise<void> {
  await holdings.drop(tenure)
  places.free()
}
