// One member that this process has open: a sandbox over its directory. It can be shut and opened again in place, which a snapshot needs,
// and each opening is a boundary of its own. Its end is counted on a clock that nobody sets.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersFirst } from 'node:timers/promises'
import type { Backend, Boundary, BoundaryUsage } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { PolicyLayer } from '../../contract/policy.ts'
import type { Provisioned, Resources, Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Life, Tenure } from '../../pool/ports.ts'
import type { CatalogAbout } from '../catalog/catalogued.ts'
import { lifetimeLine } from '../catalog/lifetime.ts'
import { createSandbox, discardPlanned, type MemberPlace } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import { liveSandbox } from '../sandbox.ts'
import type { VaultRequests } from '../secrets.ts'
import { blankIn } from './blanks.ts'
import { guardBoundary } from './guard.ts'
import { canEndOthers, tryOut } from './try-out.ts'
import { firstPlace, layOut, skillsPlace } from './layout.ts'
import { endOf, standingOf } from './life.ts'
import { offeredMounts, type MountOffers } from './offers.ts'
import { ownOpening, readOpening, requireNewest, writeOpening, type Fence } from './opening.ts'
import { recordFile, replaceRecord, type MemberRecord } from './record.ts'
import { layersOf } from './snapshots.ts'
import type { Wishes } from './spare.ts'
import type { Claimed, Haste } from './spares.ts'

/** What the operator gives to every member. */
export interface HouseRules extends Fence {
  readonly layers: readonly PolicyLayer[]
  readonly env: Readonly<Record<string, string>>
  readonly vaults: VaultRequests
  readonly mounts: readonly MountRequest[]
  readonly skills: string | undefined
  /** What their users may have mounted, by name. */
  readonly offers?: MountOffers | undefined
  /** None grows older, however often it is renewed. Default: any age. */
  readonly maxAgeMs?: number | undefined
}

export interface Member {
  readonly id: SandboxId
  readonly record: MemberRecord
  readonly directory: HostPath
  readonly tenure: Tenure
  readonly backend: Backend
  /** Nothing lay under its id when it was opened. */
  readonly isNew: boolean
  /** SANDBOX_GONE while it is shut. */
  readonly sandbox: Sandbox
  readonly isOpen: boolean
  readonly isOver: boolean
  /** On the disk before it resolves. */
  keep(record: MemberRecord): Promise<void>
  /** Other mounts and vaults, between commands; the record is to say so. */
  provision(resources: Resources, record: MemberRecord): Promise<Provisioned>
  /** With a boundary that was made ahead, if it has been given one. */
  open(claimed?: Claimed, haste?: Haste): Promise<void>
  /** Ends all that runs in it. May be called twice. */
  shut(): Promise<void>
  probe(): Promise<Life>
  /** Looking at it is no use of it. */
  usage(): Promise<BoundaryUsage>
  /** Makes ready what the next command needs, in the background. */
  warmUp(): void
  /** Settles when the host has done what opening it began, or could not; its use need not wait for that. Never rejects. */
  readonly settled: Promise<void>
}

export interface MemberParts {
  readonly rules: HouseRules
  readonly record: MemberRecord
  readonly directory: HostPath
  readonly tenure: Tenure
  readonly backend: Backend
  readonly isNew: boolean
}

interface Open {
  readonly sandbox: Sandbox
  readonly boundaryId: SandboxId
}

export function createMember(parts: MemberParts): Member {
  const { rules, directory, tenure, backend, isNew, record: first } = parts
  const { id } = first
  const inode = statSync(directory).ino
  let record = first
  const { maxAgeMs } = rules
  let endsAt = deadlineOf(first, maxAgeMs)
  let current: Open | undefined
  let made: Boundary | undefined
  let settled = Promise.resolve()

  const isThere = (): boolean =>
    statSync(directory, { throwIfNoEntry: false })?.ino === inode &&
    statSync(join(directory, recordFile), { throwIfNoEntry: false }) !== undefined

  return {
    id,
    directory,
    tenure,
    backend,
    isNew,
    get record() {
      return record
    },
    get sandbox() {
      if (current === undefined)
        throw new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it is not open', { hint: 'Ask for it again.' })
      return current.sandbox
    },
    get isOpen() {
      return current !== undefined
    },
    get isOver() {
      const pastMs = performance.now() - endsAt
      return pastMs >= 0 && standingOf(record, { now: endOf(record, maxAgeMs) + pastMs, maxAgeMs }) === 'over'
    },
    async keep(changed) {
      await replaceRecord(directory, changed)
      record = changed
      endsAt = deadlineOf(changed, maxAgeMs)
    },
    async provision(resources, changed) {
      if (current === undefined)
        throw new GloveboxError('SANDBOX_GONE', 'Cannot provision: the sandbox is not open', { hint: 'Ask again.' })
      const { sandbox } = current
      const told = await sandbox.provision(resources)
      // Another boundary stands there now, and whoever takes the member over must know which.
      const boundaryId = made?.id ?? current.boundaryId
      current = { sandbox, boundaryId }
      requireNewest(rules, id, tenure.token)
      writeOpening(rules.state, id, ownOpening(rules, tenure.token, boundaryId, sandbox.describe()))
      await this.keep(changed)
      return told
    },
    async open(claimed, { isUnhurried = false } = {}) {
      // Kernel and daemon know boundaries of other installations too, in which the same key has the same id.
      const boundaryId: SandboxId = claimed?.planned.id ?? `${id}n${randomBytes(6).toString('hex')}`
      const guard = (boundary: Boundary): Boundary => {
        made = boundary
        // Whoever opens one has a command for it: its first process starts before the rest is written and the answer is on its way.
        if (claimed !== undefined) settled = claimed.settled
        else if (!isUnhurried) settled = boundary.prepare?.({ briefly: true }).catch(() => {}) ?? settled
        return guardBoundary(boundary, tenure)
      }
      const about = {
        budget: () => [lifetimeLine({ createdAt: record.created_at, expiresAt: record.expires_at })],
      }
      const sandbox =
        claimed === undefined
          ? await openFromNothing({ ...parts, record }, { id, boundaryId, directory, guard }, about)
          : adopt(id, claimed, guard, about)
      current = { sandbox, boundaryId }
      requireNewest(rules, id, tenure.token)
      const blank = claimed === undefined ? undefined : blankIn(claimed.directory, 'opening')
      writeOpening(rules.state, id, ownOpening(rules, tenure.token, boundaryId, sandbox.describe()), { blank })
    },
    async shut() {
      const open = current
      current = undefined
      await open?.sandbox.kill()
      const last = readOpening(rules.state, id)
      // Another owner may have opened it since.
      if (open !== undefined && last?.boundaryId === open.boundaryId)
        writeOpening(rules.state, id, { ...last, owner: null })
    },
    usage: async () => (current === undefined ? undefined : await made?.usage?.()) ?? {},
    async probe() {
      if (current === undefined || !isThere()) return 'dead'
      return made !== undefined && canEndOthers(backend.name) ? tryOut(made) : 'alive'
    },
    get settled() {
      return settled
    },
    // What cannot be made ready is told to whoever needs it.
    warmUp: () => void (current === undefined ? undefined : made?.prepare?.().catch(() => {})),
  }
}

/** SECURITY: what a request asked for is measured anew by the ceilings of today, also when a sandbox comes back from rest.
 * test/e2e/pool-lifetimes: "a sandbox that comes back is held to the ceilings of today" */
const requestLayer = ({ policy }: MemberRecord): readonly PolicyLayer[] =>
  policy === null ? [] : [{ layer: 'request', source: 'POST /sandboxes', values: policy }]

/** What a record asks for, over what the operator gives to all. */
export const wishesOf = (rules: HouseRules, record: MemberRecord): Wishes => ({
  layers: [...rules.layers, ...requestLayer(record)],
  env: { ...rules.env, ...record.env },
  vaults: vaultsOf(rules, record),
  cwd: record.cwd ?? firstPlace[record.layout],
})

async function openFromNothing(
  { rules, record, backend, directory }: MemberParts,
  member: MemberPlace,
  catalog: CatalogAbout,
): Promise<Sandbox> {
  await othersFirst()
  const mounts = mountsOf(rules, record, directory)
  await othersFirst()
  return await createSandbox({ ...wishesOf(rules, record), backend, mounts, member, catalog })
}

function adopt(
  id: SandboxId,
  { planned, boundary }: Claimed,
  guard: (boundary: Boundary) => Boundary,
  about: CatalogAbout,
): Sandbox {
  const live = { ...planned, id, guard, about, boundary: guard(boundary), onEnd: () => discardPlanned(planned) }
  return liveSandbox(live)
}

const vaultsOf = ({ vaults }: HouseRules, { provisioned }: MemberRecord): VaultRequests =>
  provisioned === undefined
    ? vaults
    : Object.fromEntries(Object.entries(vaults).filter(([name]) => !provisioned.without_vaults.includes(name)))

export function mountsOf(
  rules: HouseRules,
  record: Pick<MemberRecord, 'layout' | 'layers' | 'mounts' | 'provisioned'> & Partial<Pick<MemberRecord, 'project'>>,
  directory: HostPath,
): readonly MountRequest[] {
  const { layout, layers, mounts } = record
  const own = layOut({ layout, directory, layers: layersOf(rules.state, layers) })
  const skills = layout === 'thread' && rules.skills !== undefined ? [skillsMount(rules.skills)] : []
  const further = mounts.map(({ mode, ...mount }) => (mode === undefined ? mount : { ...mount, mode }))
  return [...own, ...skills, ...rules.mounts, ...further, ...offeredMounts(rules.offers ?? {}, record)]
}

const skillsMount = (hostPath: string): MountRequest => ({ guestPath: skillsPlace, hostPath, mode: 'ro' })

const deadlineOf = (record: MemberRecord, maxAgeMs: number | undefined): number =>
  performance.now() + (endOf(record, maxAgeMs) - Date.now())
