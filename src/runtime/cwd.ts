// Where a command may begin: below a mount, in the agent's home, or in /tmp.
import type { Boundary, Plan } from '../contract/backend.ts'
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { isWithin, parseGuestPath } from '../paths/guest.ts'
import { shownPath } from '../paths/refusal.ts'
import { mountTable } from '../paths/table.ts'

export type CheckCwd = (asked: string | undefined) => Promise<GuestPath>

export function cwdChecker(plan: Plan, boundary: Boundary): CheckCwd {
  const table = mountTable(plan.spec.mounts)
  return async (asked) => {
    const cwd = asked === undefined ? plan.spec.cwd : parseGuestPath(asked, plan.spec.cwd)
    // A mount's own root is there as long as the sandbox is.
    if (plan.spec.mounts.some((mount) => mount.guestPath === cwd)) return cwd
    if (table.locate(cwd) !== undefined) {
      const found = await boundary.files.stat(cwd).catch((error: unknown) => {
        throw isGloveboxError(error) && error.code === 'NOT_FOUND' ? notThere(cwd) : error
      })
      // A link is left to the guest's own view, which it cannot leave.
      if (found.kind === 'directory' || found.kind === 'symlink') return cwd
      throw new GloveboxError('NOT_A_DIRECTORY', `Cannot run in ${cwd}: it is not a directory`)
    }
    if (['/tmp', plan.spec.home.guestPath].some((place) => isWithin(cwd, place as GuestPath))) return cwd
    // SECURITY: a working directory never widens the boundary, nor is it silently replaced (CVE-2025-59532).
    // test/attacks/persistence: "a working directory outside the mounts is refused"
    throw new GloveboxError('OUTSIDE_MOUNTS', `Cannot run in ${cwd}: it lies outside every mount`, {
      hint: `Choose a directory below ${plan.spec.mounts.map((mount) => mount.guestPath).join(', ') || '/tmp'}.`,
    })
  }
}

const notThere = (cwd: GuestPath): GloveboxError =>
  new GloveboxError('NOT_FOUND', `Cannot run in ${shownPath(cwd)}: nothing is there`, {
    hint: 'Make the directory first, or choose one that is there. It is named as the guest sees it.',
  })
