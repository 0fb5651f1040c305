// The protected names of a sandbox, laid when it is made and looked at before each exec. See guards.ts for what is laid, and
// placeholders.ts for what is put on the host where a name is missing. This room promises that a name is guarded in every
// mount that shows it, and that nothing it put on the host outlives the sandbox or, after a crash, the next start. It must
// not know how a backend lays a mount.
import { join } from 'node:path'
import type { SandboxSpec } from '../contract/backend.ts'
import type { SandboxId } from '../contract/ids.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import type { HostFiles } from '../paths/host-files.ts'
import { isWithin } from '../paths/guest.ts'
import { mountTable } from '../paths/table.ts'
import { findBuiltInProtection } from '../policy/protect.ts'
import type { ProcessIdentity } from '../process/identity.ts'
import type { Guard } from './rule.ts'
import { pinsForMasks } from './masks.ts'
import { areStillHeld, guardsFor, placesOf, type HeldName, type HeldPlace } from './guards.ts'
import type { OnDisk } from './rule.ts'
import { nestedRepositories } from './nested-repositories.ts'
import { layPlaceholders, liftPlaceholders, type ProtectedName } from './placeholders.ts'

/** Where a mount's host directory is found by bwrap. */
export type PathOf = (mount: Mount) => string

export interface Protection {
  /** The same array as before while nothing has changed on the host. */
  guards(pathOf: PathOf): Promise<readonly Guard[]>
  lift(): Promise<void>
}

export interface ProtectionParts {
  readonly id: SandboxId
  readonly stateDir: string
  readonly spec: SandboxSpec
  readonly files: HostFiles
  /** With whose end the sandbox ends. Default: this process. */
  readonly owner?: ProcessIdentity
  /** Directories of the control group that will be made next. */
  readonly limitGroup?: readonly string[] | undefined
  /** Where a mount with layers keeps what is made in it. */
  readonly onDisk: (mount: Mount) => OnDisk | undefined
}

const repositoryNames = ['.git/hooks', '.git/config', '.git/commondir'] as const

export async function openProtection({
  id,
  stateDir,
  spec,
  files,
  owner,
  limitGroup,
  onDisk,
}: ProtectionParts): Promise<Protection> {
  const table = mountTable(spec.mounts)
  const wanted = new Map(
    spec.mounts.map((mount) => [mount, [...protectedNames(mount, spec), ...mountPoints(mount, spec)]]),
  )
  let held: readonly HeldName[] = []
  let places: readonly HeldPlace[] = []
  let guards: readonly Guard[] | undefined

  /** A deeper mount has names of its own, and what the outer one shows there is out of sight. */
  const isInSight = (mount: Mount, guestPath: string): boolean => table.locate(guestPath as GuestPath)?.mount === mount

  const lay = async (): Promise<void> => {
    const mounts = spec.mounts.filter((mount) => wanted.get(mount)?.length !== 0)
    const roots = mounts.map((mount) => ({
      descriptor: files.rootDescriptor(mount),
      hostPath: mount.hostPath,
      names: wanted.get(mount) ?? [],
      ...onDisk(mount),
    }))
    const placed = await layPlaceholders({
      sandboxId: id,
      stateDir,
      roots,
      limitGroup,
      ...(owner === undefined ? {} : { owner }),
    })
    held = placed.flatMap(({ hostPath, name, maskedName, kind }) =>
      mounts
        .filter(
          (mount) =>
            (onDisk(mount)?.hostPath ?? mount.hostPath) === hostPath &&
            wanted.get(mount)?.some((each) => each.name === name) === true,
        )
        .map((mount) => ({ mount, name: maskedName, kind })),
    )
    places = placesOf(held)
    guards = undefined
  }
  await lay()
  return {
    async guards(pathOf) {
      if (!areStillHeld(places)) await lay()
      guards ??= withPins(guardsFor(held, { sourceOf: pathOf, isInSight }), pinsForMasks(spec, pathOf))
      return guards
    },
    lift: async () => void (await liftPlaceholders(id, stateDir)),
  }
}

/** A pin where nothing is laid yet, and nothing above is read-only already. */
const withPins = (guards: readonly Guard[], pins: readonly Guard[]): readonly Guard[] => [
  ...guards,
  ...[...new Map(pins.map((pin) => [pin.guestPath, pin])).values()].filter(
    (pin) =>
      !guards.some(
        ({ guestPath, rule }) =>
          guestPath === pin.guestPath || (rule === 'readonly' && pin.guestPath.startsWith(`${guestPath}/`)),
      ),
  ),
]

/** Below a writable mount: the names of every writable mount that shows the same directories, and of repositories below. */
function protectedNames(mount: Mount, { mounts, policy }: SandboxSpec): readonly ProtectedName[] {
  if (mount.mode !== 'rw') return []
  const writable = mounts.filter(({ mode }) => mode === 'rw')
  const guarded = repositoryNames.filter((name) => policy.protect.includes(name))
  const nested = guarded.length === 0 ? { found: [], closed: [] } : nestedRepositories(mount.hostPath)
  const names = [
    ...writable.flatMap((other) => policy.protect.flatMap((name) => seenFrom(mount, other, name))),
    ...nested.found.flatMap((directory) => guarded.map((name) => asProtected(name, `${directory}/${name}`))),
    // SECURITY: what a guest closed in one sandbox, so that nobody sees the repository in it, it could open and fill in the next.
    // test/attacks/persistence: "a repository in a directory that the agent closed stays protected in the next sandbox"
    ...nested.closed.map((name): ProtectedName => ({ name, kind: 'directory' })),
  ]
  return [...new Map(names.map((each) => [each.name, each])).values()]
}

/** SECURITY: a second mount of the same directory, or of one below it, must not be the way around the first one's guards.
 * test/attacks/persistence: "a second mount of the same directory does not open what the first protects" */
function seenFrom(mount: Mount, other: Mount, name: string): readonly ProtectedName[] {
  const hostPath = join(other.hostPath, name)
  return hostPath.startsWith(`${mount.hostPath}/`) ? [asProtected(name, hostPath.slice(mount.hostPath.length + 1))] : []
}

function asProtected(name: string, place: string): ProtectedName {
  const known = findBuiltInProtection(name)
  return {
    name: place,
    kind: known?.kind ?? 'file',
    ...(known?.content === undefined ? {} : { content: known.content }),
  }
}

/** Where deeper mounts are laid. bwrap would make a missing one itself, and leave it in the host's directory. */
function mountPoints(mount: Mount, { mounts }: SandboxSpec): readonly ProtectedName[] {
  const table = mountTable(mounts.filter((other) => isWithin(other.guestPath, mount.guestPath)))
  return table.mounts
    .filter((inner) => inner !== mount && isDirectlyIn(inner, mount, table.mounts))
    .map((inner) => ({ name: inner.guestPath.slice(mount.guestPath.length + 1), kind: 'directory' }))
}

const isDirectlyIn = (inner: Mount, outer: Mount, mounts: readonly Mount[]): boolean =>
  !mounts.some((between) => between !== inner && between !== outer && isWithin(inner.guestPath, between.guestPath))
