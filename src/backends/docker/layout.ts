// What a container of this sandbox binds, looked at anew before each command: the host's owner may replace a protected name at any
// time, and the kernel then drops what was mounted over it. A container made before that is not used again.
import { fstatSync, lstatSync, mkdirSync, readFileSync, type BigIntStats } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { parseGuestPath } from '../../paths/guest.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { mountTable } from '../../paths/table.ts'
import { openMasks, vaultNames } from '../../guards/masks.ts'
import type { Protection } from '../../guards/protection.ts'
import type { Bound } from './compile.ts'

export interface Laid {
  readonly bounds: readonly Bound[]
  /** By guest path: the inode that must be seen there once the container stands. */
  readonly inodes: ReadonlyMap<string, bigint>
  /** The same as long as every source is the very file that it was. */
  readonly key: string
}

export interface LayoutParts {
  readonly spec: SandboxSpec
  readonly protection: Protection
  readonly files: HostFiles
  /** Out of the guest's reach: covers and the names of vaults. */
  readonly scratch: string
  readonly readOnlyIsDeep: boolean
}

export async function openLayout(parts: LayoutParts): Promise<() => Promise<Laid>> {
  const { spec, protection, scratch, readOnlyIsDeep, files } = parts
  refuseOutside(spec)
  const covers = await openCovers(spec, scratch)
  const home: Bound = { guestPath: spec.home.guestPath, source: spec.home.hostPath, writable: true }
  const mounts = spec.mounts.map((mount, index) => boundOf(mount, scratch, index))
  if (!readOnlyIsDeep) refuseMountsBelow([...mounts])
  return async () => {
    const guards = await protection.guards((mount) => mount.hostPath)
    const laid = guards.map(({ guestPath, source, rule }) => ({ guestPath, source, writable: rule === 'pin' }))
    refuseReplaced(spec, files)
    const bounds = [home, ...mounts, ...laid, ...covers]
    const seen = bounds.map((bound) => ({ bound, stats: lstatSync(bound.source, { bigint: true }) }))
    return {
      bounds,
      inodes: new Map(seen.map(({ bound, stats }) => [bound.guestPath, stats.ino])),
      key: seen.map(({ bound, stats }) => identify(bound, stats)).join('\n'),
    }
  }
}

/** SECURITY: docker is given a path and not a descriptor, and the guest may own what leads to it.
 * test/attacks/files: "a mount's host path swapped for a link after creation is not followed" */
function refuseReplaced({ mounts }: SandboxSpec, files: HostFiles): void {
  for (const mount of mounts) {
    const opened = fstatSync(files.rootDescriptor(mount), { bigint: true })
    const now = lstatSync(mount.hostPath, { bigint: true, throwIfNoEntry: false })
    if (now?.ino === opened.ino && now.dev === opened.dev) continue
    throw new GloveboxError(
      'BOUNDARY_FAILED',
      `Cannot run the command: the directory behind ${mount.guestPath} is not the one that was mounted`,
      { hint: 'Somebody has moved or replaced it. Make a new sandbox.', operatorDetail: mount.hostPath },
    )
  }
}

/** A number alone may be given to another file; together with its birth it is not. */
function identify({ guestPath, writable }: Bound, { dev, ino, birthtimeNs }: BigIntStats): string {
  return [guestPath, writable ? 'rw' : 'ro', dev, ino, birthtimeNs].join(' ')
}

function boundOf(mount: Mount, scratch: string, index: number): Bound {
  const { guestPath, hostPath, mode } = mount
  if (mode === 'vault') return { guestPath, source: vaultNames(mount, scratch, index), writable: false }
  return { guestPath, source: hostPath, writable: mode === 'rw' }
}

/** SECURITY: a cover that could be listed or written would tell, or keep, something.
 * test/attacks/files: "a masked directory is neither listable nor writable" */
async function openCovers(spec: SandboxSpec, scratch: string): Promise<readonly Bound[]> {
  const masks = await openMasks(spec, scratch, (path) => Promise.resolve(path))
  if (masks.length === 0) return []
  const directory = join(scratch, 'cover-directory')
  mkdirSync(directory, { mode: 0o000 })
  return masks.map(({ guestPath, coverFile }) => ({ guestPath, source: coverFile ?? directory, writable: false }))
}

/** Whether there is a file or a directory in the image can be told only from inside, when it is too late. */
function refuseOutside({ mounts, policy }: SandboxSpec): void {
  const table = mountTable(mounts)
  const outside = policy.denyRead.find((text) => table.locate(parseGuestPath(text)) === undefined)
  if (outside === undefined) return
  throw new GloveboxError('POLICY_UNENFORCEABLE', `Cannot hide ${outside} with docker: it lies outside every mount`, {
    hint: 'Leave it out of denyRead, and use an image that has no such file.',
    facts: { backend: 'docker', missing: [{ capability: 'files.denyRead', why: 'outside every mount' }] },
  })
}

/** SECURITY: of a read-only mount, this Docker leaves writable what is mounted below it on the host.
 * test/attacks/docker: "a mount below a read-only one is not left writable" */
export function refuseMountsBelow(bounds: readonly Bound[]): void {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => plainPath(line.split(' ', 5)[4] ?? ''))
  const open = bounds.find(
    ({ writable, source }) => !writable && points.some((point) => point.startsWith(`${source}/`)),
  )
  if (open === undefined) return
  throw new GloveboxError(
    'BOUNDARY_FAILED',
    `Cannot mount ${open.guestPath} read-only: something is mounted below it, which Docker before 25 leaves writable`,
    {
      hint: 'Mount a directory with nothing mounted below it, or use Docker 25 or newer.',
      operatorDetail: open.source,
    },
  )
}

const plainPath = (escaped: string): string =>
  escaped.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
