// Mounts and vaults that come and go between the commands of a sandbox. Mounts are part of a boundary's walls, so another boundary
// is made over the same files, and takes the place of the first. It promises that a change that is refused changes nothing.
import { realpathSync } from 'node:fs'
import type { Boundary, Plan } from '../contract/backend.ts'
import { newSandboxId } from '../contract/ids.ts'
import type { Mount } from '../contract/mount.ts'
import type { Resources } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { isWithin, parseGuestPath } from '../paths/guest.ts'
import type { Spawner } from '../process/spawn.ts'
import { vaultGuestPath, type Vault } from '../vaults/vaults.ts'
import { requireEnforceable } from './enforceable.ts'
import { resolveMounts } from './mounts.ts'
import type { Live } from './sandbox.ts'
import { closeVaults, mountRequestsFor, openVaults, type VaultRequests } from './secrets.ts'

/** What stands at some moment. */
export interface Standing {
  readonly plan: Plan
  readonly boundary: Boundary
  readonly vaults: readonly Vault[]
}

export interface ProvisionParts extends Pick<Live, 'backend' | 'guard' | 'scratch'> {
  readonly spawner: () => Spawner
}

/** What is to stand in place of what does. The caller ends the one that it has no use for. */
export async function makeAnew(parts: ProvisionParts, now: Standing, resources: Resources): Promise<Standing> {
  const { add: newVaults = {}, remove: goneVaults = [] } = resources.vaults ?? {}
  const { add: newMounts = [], remove: goneMounts = [] } = resources.mounts ?? {}
  const gone = [...goneMounts.map((path) => parseGuestPath(path)), ...goneVaults.map(vaultGuestPath)]
  const kept = keepMounts(now.plan, gone)
  const asked = [...newMounts, ...mountRequestsFor(newVaults)]
  const given = resolveMounts(asked, kept)
  refuseTaken([...given.map(({ guestPath }) => guestPath), ...namedPlaces(newVaults)], kept)
  const keptVaults = now.vaults.filter(({ name }) => kept.some(({ guestPath }) => guestPath === vaultGuestPath(name)))
  const opened = openVaults(newVaults, given, { ...parts, writable: kept })
  try {
    const mounts = [...kept, ...given, ...opened.mounts]
    const spec = { ...now.plan.spec, mounts }
    await parts.backend.ready?.()
    const plan = parts.backend.compile(spec)
    requireEnforceable(parts.backend, spec)
    const made = await parts.backend.create(newSandboxId(), plan)
    return { plan, boundary: parts.guard?.(made) ?? made, vaults: [...keptVaults, ...opened.vaults] }
  } catch (error) {
    closeVaults(opened.vaults)
    throw error
  }
}

const namedPlaces = (vaults: VaultRequests): readonly string[] =>
  Object.entries(vaults).flatMap(([name, source]) => ('directory' in source ? [] : [vaultGuestPath(name)]))

function keepMounts({ spec }: Plan, gone: readonly string[]): readonly Mount[] {
  const missing = gone.find((path) => !spec.mounts.some(({ guestPath }) => guestPath === path))
  if (missing !== undefined)
    throw refuse('NOT_FOUND', `nothing is mounted at ${missing}`, 'describe() lists the mounts.')
  const kept = spec.mounts.filter(({ guestPath }) => !gone.includes(guestPath))
  const leaving = spec.mounts.find(({ guestPath }) => gone.includes(guestPath) && isWithin(spec.cwd, guestPath))
  if (leaving !== undefined && !kept.some(({ guestPath }) => isWithin(spec.cwd, guestPath)))
    throw refuse('INVALID_INPUT', `commands begin in ${spec.cwd}`, 'Make a sandbox with another cwd.')
  const layered = kept.find(({ over }) => over !== undefined)
  // The kernel does not let two overlays share the directory that takes the changes.
  if (layered !== undefined)
    throw refuse('POLICY_UNENFORCEABLE', `${layered.guestPath} is laid over other directories`, 'Make a new sandbox.')
  for (const mount of kept) refuseMoved(mount)
  return kept
}

/** SECURITY: the way to a mount may lead through what the guest can write, and it has had time to lay a link there.
 * test/attacks/vault: "a mount's host path that the guest swapped for a link is not mounted again" */
function refuseMoved({ guestPath, hostPath }: Mount): void {
  if (realOf(hostPath) === hostPath) return
  throw new GloveboxError(
    'BOUNDARY_FAILED',
    `Cannot provision: the directory behind ${guestPath} is not where it was`,
    {
      hint: 'Somebody has moved or replaced it. Make a new sandbox.',
      operatorDetail: hostPath,
    },
  )
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

function refuseTaken(added: readonly string[], kept: readonly Mount[]): void {
  const places = [...kept.map(({ guestPath }) => guestPath as string), ...added]
  const twice = places.find((path, index) => places.indexOf(path) !== index)
  if (twice === undefined) return
  throw refuse('ALREADY_EXISTS', `${twice} is mounted already`, 'Remove it in the same call, or choose another path.')
}

const refuse = (
  code: 'NOT_FOUND' | 'ALREADY_EXISTS' | 'INVALID_INPUT' | 'POLICY_UNENFORCEABLE',
  cause: string,
  hint: string,
): GloveboxError => new GloveboxError(code, `Cannot provision: ${cause}`, { hint })
