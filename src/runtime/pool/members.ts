// The members of this installation, over any backend: what the pool is handed. Files are the truth. A member is its directory; a
// boundary over it belongs to one process, and another process that has the lease opens a new one over the same files. Nothing
// that ran survives that, on any backend: between commands a boundary holds nothing that its files do not.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersFirst } from 'node:timers/promises'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Description } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { sweepLocks } from '../../paths/lock-file.ts'
import { removeTreeAtOnce } from '../../paths/remove-tree.ts'
import { sweepScratch } from '../../process/scratch.ts'
import { inPieces } from '../../pool/in-pieces.ts'
import { keepsFiles, type Creation, type MemberInfo, type Members } from '../../pool/ports.ts'
import type { ServedBackends } from '../server/backends.ts'
import { beginning, requireSnapshot } from './beginning.ts'
import { blankIn } from './blanks.ts'
import { discard, sweepDiscarded } from './discard.ts'
import { openIndex } from './records.ts'
import { asRenewed, standingOf, withinAge } from './life.ts'
import { openLastRoom } from './last-room.ts'
import { createMember, wishesOf, type HouseRules, type Member } from './member.ts'
import {
  isOpenElsewhere,
  isOpenSomewhere,
  ownOpening,
  readOpening,
  isNewest,
  requireNewest,
  writeOpening,
  type Opening,
} from './opening.ts'
import { makePlace, memberPlace, membersIn } from './place.ts'
import { readRecord, recordFile, replaceRecord, writeFirstRecord, type MemberRecord } from './record.ts'
import { firstRecord, keyOf, type MemberDefaults, type MemberRequest } from './request.ts'
import { becomeMember } from './spare-place.ts'
import { openSpares, type Claimed, type Haste, type Spares } from './spares.ts'
import { canEndOthers } from './try-out.ts'
import { finishSnapshot, type Method } from './snapshots.ts'
import { asksForUsual, isPlain, spareKind, usualWishes } from './usual.ts'

export interface MembersOptions extends HouseRules {
  readonly backends: ServedBackends
  readonly defaults: MemberDefaults
  /** How files can be carried over on this host. */
  readonly methodFor: (backend: string) => Promise<Method>
  /** How many are made ahead of their use. Default: none. */
  readonly warm?: number | undefined
  /** One could not be made ahead. */
  readonly onFault?: ((error: unknown) => void) | undefined
}

export interface RealMembers extends Members<Member, MemberRequest> {
  /** The records of all that lie here, those that cannot be read left out; of members elsewhere as they were seen last. */
  records(): readonly MemberRecord[]
  /** As it is now. */
  read(id: SandboxId): MemberRecord | undefined
  /** As it was seen last. */
  known(id: SandboxId): MemberRecord | undefined
  /** One that is open here is judged by the clock that nobody sets, and any other by its record. */
  hasEnded(record: MemberRecord): boolean
  /** What it said of itself when it was open last. */
  describe(id: SandboxId): Description | undefined
  /** From memory: how many of them there are. */
  count(wanted: (record: MemberRecord) => boolean): number
  readonly spares: Pick<Spares, 'ahead' | 'filled'>
  /** A new one will be asked for in a moment: what it would wait for may begin. */
  expect(request: MemberRequest): void
  /** One is about to be thrown away: on a full disk there is room then for what is written of it, from its lease on. */
  makeRoom(): void
  /** Ends what was made ahead and nobody has claimed. */
  close(): Promise<void>
}

/** One for whoever asks next, and one for whoever comes while another is being laid. */
const laidAhead = 2

export function openMembers(options: MembersOptions): RealMembers {
  const { state, backends, maxAgeMs } = options
  const open = new Map<SandboxId, Member>()
  makePlace(membersIn(state))
  // Once for all that are opened here: a look at everything that lies there costs more with each member.
  sweepScratch(membersIn(state))
  sweepLocks(join(state, 'locks') as HostPath)
  void sweepDiscarded(state)
  const lastRoom = openLastRoom(state)

  const index = openIndex(state)
  const usual = usualWishes(options)
  const spares = openSpares({
    state,
    count: options.warm ?? 0,
    laid: laidAhead,
    kind: () => spareKind(options, usual),
    onFault: options.onFault,
  })

  const read = (id: SandboxId): MemberRecord | undefined => open.get(id)?.record ?? index.read(id)
  const hasEnded = (record: MemberRecord): boolean =>
    open.get(record.id)?.isOver ?? standingOf(record, { maxAgeMs }) === 'over'
  const infoOf = (record: MemberRecord): MemberInfo => ({
    id: record.id,
    key: keyOf(record),
    isRunning: isRunning(readOpening(state, record.id), record),
    isOver: hasEnded(record),
  })

  /** Ends what an owner before us has open. BUSY where that is beyond us. */
  const endForeign = async (last: Opening | undefined, record: MemberRecord | undefined): Promise<void> => {
    if (last === undefined || record === undefined || last.owner === null) return
    const backend = await backends.get(record.backend)
    const isElsewhere = isOpenElsewhere(last)
    // Its boundaries are processes of its own, out of our reach; it lets go of them when it finds its lease lost.
    if (isElsewhere && !canEndOthers(backend.name)) throw heldElsewhere()
    await backend.destroy(last.boundaryId)
  }

  /** Without a token: nobody can have come before us. */
  const claim = async (record: MemberRecord, token: number | undefined, haste: Haste): Promise<Claimed | undefined> => {
    const wishes = isPlain(record) ? usual : wishesOf(options, record)
    const claimed = await spares.claim(await backends.get(record.backend), wishes, haste)
    if (claimed === undefined) return undefined
    try {
      if (token !== undefined) requireNewest(options, record.id, token)
      writeFirstRecord(claimed.directory, record, { blank: blankIn(claimed.directory, 'record') })
      becomeMember(state, record.id, claimed.directory)
      return claimed
    } catch (error) {
      await claimed.giveUp()
      throw error
    }
  }

  const prepare = async (
    id: SandboxId,
    { key, request = {}, tenure, isUnheardOf = false }: Creation<MemberRequest>,
  ) => {
    const directory = memberPlace(state, id)
    if (!isUnheardOf) {
      const found = readRecord(directory)
      if (found !== undefined) return { record: await comeBack(options, found), isNew: false }
      // Half made by a process that died, or robbed of its record: whose files these were, nobody can tell.
      await discard(state, id)
    }
    const plain = withinAge(firstRecord(id, key, request, options.defaults), maxAgeMs)
    const claimed = asksForUsual(request, options.defaults)
      ? await claim(plain, isUnheardOf ? undefined : tenure.token, request)
      : undefined
    if (claimed !== undefined) return { record: plain, isNew: true, claimed }
    // To make one from nothing takes milliseconds, and others are answered in between.
    await othersFirst()
    makePlace(directory)
    try {
      const record = await beginning(options, plain, request.snapshot)
      writeFirstRecord(directory, record)
      requireSnapshot(options, plain, request.snapshot)
      return { record, isNew: true }
    } catch (error) {
      if (isNewest(options, id, tenure.token)) {
        index.drop(id)
        await discard(state, id)
      }
      // Whatever a copy stumbled on when its source went away: that it did is what is told.
      requireSnapshot(options, plain, request.snapshot)
      throw error
    }
  }

  return {
    read,
    records: () => index.all().map((record) => open.get(record.id)?.record ?? record),
    known: (id) => open.get(id)?.record ?? index.known(id),
    hasEnded,
    describe: (id) => readOpening(state, id)?.description ?? undefined,
    count: (wanted) => index.count(wanted),
    find: async (id) => {
      const record = read(id)
      return record === undefined ? undefined : infoOf(record)
    },
    attach: async () => undefined,
    async create(id, creation) {
      const { tenure, former } = creation
      const last = creation.isUnheardOf === true ? undefined : requireNewest(options, id, tenure.token)
      // One that is parked elsewhere has nothing running; but its layers cannot be laid twice.
      const before = creation.isUnheardOf === true ? undefined : read(id)
      const isQuiet = former.was === 'parked' && before?.layers.length === 0
      if (!isQuiet) await endForeign(last, before)
      // Nobody else can know an id that was made at random just now, so nobody can come too late with a lower token.
      const isUnheardOf = creation.key === null && last === undefined && before === undefined
      if (!isUnheardOf) writeOpening(state, id, ownOpening(options, tenure.token, id, null))
      const directory = memberPlace(state, id)
      const { record, isNew, claimed } = await prepare(id, creation).catch((error: unknown) => {
        if (isNewest(options, id, tenure.token) && !existsSync(join(directory, recordFile))) removeTreeAtOnce(directory)
        throw error
      })
      try {
        const backend = await backends.get(record.backend)
        const member = createMember({ rules: options, record, directory, tenure, backend, isNew })
        await member.open(claimed, creation.request).catch(async (error: unknown) => {
          await member.shut()
          throw error
        })
        open.set(id, member)
        index.put(record)
        return member
      } catch (error) {
        // One that slept too long finds its lease lost here, and the files are another's by then.
        if (!isNewest(options, id, tenure.token)) throw error
        if (isNew) await discard(state, id)
        else writeOpening(state, id, { ...ownOpening(options, tenure.token, id, null), owner: null })
        throw error
      }
    },
    probe: (member) => member.probe(),
    isOver: (member) => member.isOver,
    async detach(member) {
      if (open.get(member.id) === member) {
        open.delete(member.id)
        index.put(member.record)
      }
      await member.shut()
    },
    async destroy(id, { token, why }) {
      const last = requireNewest(options, id, token)
      const own = open.get(id)
      if (!keepsFiles(why)) lastRoom.make()
      open.delete(id)
      if (own !== undefined) index.put(own.record)
      await own?.shut()
      if (own === undefined) await endForeign(last, read(id))
      // Ending may have taken long, and this process may have slept.
      requireNewest(options, id, token)
      if (keepsFiles(why)) {
        if (last !== undefined && last.owner !== null) writeOpening(state, id, { ...last, token, owner: null })
        return
      }
      lastRoom.make()
      if (last !== undefined) writeOpening(state, id, { ...last, token, owner: null })
      index.drop(id)
      await discard(state, id)
      lastRoom.renew()
    },
    list: async () => inPieces(await index.refreshed(), (piece) => piece.map(infoOf)),
    spares,
    expect(request) {
      if (request.isUnhurried !== true && asksForUsual(request, options.defaults)) spares.expect()
    },
    makeRoom: () => lastRoom.make(),
    close: () => spares.close(),
  }
}

/** A process takes its boundaries with it, but for containers, which it may have left behind. */
const isRunning = (opening: Opening | undefined, { backend }: MemberRecord): boolean =>
  isOpenSomewhere(opening) || (canEndOthers(backend) && opening !== undefined && opening.owner !== null)

const heldElsewhere = (): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot open the sandbox: another process still has it open', {
    hint: 'Try again in a moment, or end that process.',
  })

/** One that was paused begins a new life; one that was cut off in the middle of a snapshot is made whole. */
async function comeBack({ state, maxAgeMs }: HouseRules, found: MemberRecord): Promise<MemberRecord> {
  const whole = await finishSnapshot(state, found)
  if (standingOf(whole, { maxAgeMs }) === 'live') return whole
  const awake = asRenewed(whole, { maxAgeMs })
  await replaceRecord(memberPlace(state, whole.id), awake)
  return awake
}
