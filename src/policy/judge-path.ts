// Which rule of the policy explains that the kernel refused this path? Undefined where none does: an ordinary
// lack of permission is the guest's own affair.
import type { Capability } from '../contract/capability.ts'
import type { Denial } from '../contract/denial.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import type { EffectivePolicy } from '../contract/policy.ts'
import { isAtOrBelow } from './protect.ts'

/** EROFS, EACCES or EPERM, and EBUSY, as programs tell them. */
export type FileComplaint = 'read-only' | 'denied' | 'busy'

export interface Surroundings {
  readonly mounts: readonly Mount[]
  readonly policy: EffectivePolicy
  readonly cwd: GuestPath
}

export interface Verdict {
  readonly by: Capability
  readonly denial: Omit<Denial, 'backend' | 'evidence'>
}

/** A plain reading of the text; links are not followed, since this only explains and never decides. */
function absolute(text: string, cwd: string): string {
  const segments: string[] = []
  for (const segment of (text.startsWith('/') ? text : `${cwd}/${text}`).split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

const isWithin = (path: string, root: string): boolean => root === '/' || isAtOrBelow(path, root)

function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  let nearest: Mount | undefined
  for (const mount of mounts) {
    const isNearer = nearest === undefined || mount.guestPath.length > nearest.guestPath.length
    if (isNearer && isWithin(path, mount.guestPath)) nearest = mount
  }
  return nearest
}

function hidden(path: string, denyRead: readonly string[]): Verdict | undefined {
  const rule = denyRead.find((root) => isWithin(path, root))
  if (rule === undefined) return undefined
  const reason = 'The policy hides this path.'
  return { by: 'files.denyRead', denial: { kind: 'file.read', subject: path, rule: `denyRead:${rule}`, reason } }
}

function inVault(path: string, mount: Mount): Verdict {
  const reason = 'The path lies in a vault: its contents cannot be reached by commands.'
  const rule = `mount:${mount.guestPath}=vault`
  return { by: 'mount.vault', denial: { kind: 'file.read', subject: path, rule, reason } }
}

function onReadOnlyMount(path: string, mount: Mount): Verdict {
  const rule = `mount:${mount.guestPath}=ro`
  const reason = 'The mount is read-only.'
  return { by: 'mount.readonly', denial: { kind: 'file.write', subject: path, rule, reason } }
}

function outsideMounts(path: string): Verdict {
  const reason = 'The path lies outside every mount: the system is read-only for commands.'
  const denial = { kind: 'file.write', subject: path, rule: 'filesystem.isolated', reason } as const
  return { by: 'filesystem.isolated', denial }
}

/** At or below a protected name; or above one, which is pinned; or beside one below a masked parent. */
function protectingName(below: string, saying: FileComplaint, protect: readonly string[]): string | undefined {
  const direct = protect.find((name) => isAtOrBelow(below, name))
  if (direct !== undefined) return direct
  if (saying === 'busy') return protect.find((name) => isAtOrBelow(name, below))
  // A writable mount says "read-only" only where something is laid over it: `.git` for a missing `.git/hooks`.
  const top = below.split('/')[0] ?? ''
  return saying === 'read-only' ? protect.find((name) => name.startsWith(`${top}/`)) : undefined
}

function protectedBelow(
  path: string,
  mount: Mount,
  saying: FileComplaint,
  protect: readonly string[],
): Verdict | undefined {
  const below = path.slice(mount.guestPath === '/' ? 1 : mount.guestPath.length + 1)
  const name = below === '' ? undefined : protectingName(below, saying, protect)
  if (name === undefined) return undefined
  const reason = 'The path is protected: it can be neither changed nor created.'
  return { by: 'files.protected', denial: { kind: 'file.write', subject: path, rule: `protected:${name}`, reason } }
}

export function judgePath(
  text: string,
  saying: FileComplaint,
  { mounts, policy, cwd }: Surroundings,
): Verdict | undefined {
  const path = absolute(text, cwd)
  const masked = hidden(path, policy.denyRead)
  if (masked !== undefined) return masked
  const mount = mountOf(path, mounts)
  // A bare word of the message is no evidence of a path outside; only an absolute path is.
  if (mount === undefined) return saying === 'read-only' && text.startsWith('/') ? outsideMounts(path) : undefined
  if (mount.mode === 'vault') return inVault(path, mount)
  if (mount.mode === 'ro') return saying === 'read-only' ? onReadOnlyMount(path, mount) : undefined
  return protectedBelow(path, mount, saying, policy.protect)
}
