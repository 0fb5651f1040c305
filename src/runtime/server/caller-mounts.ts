// Directories of this host that a caller asks to see in a sandbox. Only what lies below a root that the operator named.
import { realpathSync } from 'node:fs'
import { isAbsolute, sep } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import type { MountRequest } from '../mount-text.ts'

/**
 * SECURITY: a caller is not the operator, and a path that he names may be a link to anywhere: compared is what it really is.
 * src/runtime/server/caller-mounts.test: "a directory outside the operator's roots is refused, also behind a link"
 */
export function requireAllowed(mounts: readonly MountRequest[], roots: readonly string[]): void {
  if (mounts.length === 0) return
  const allowed = roots.flatMap((root) => realOf(root) ?? [])
  for (const { hostPath, guestPath, over } of mounts) {
    const real = isAbsolute(hostPath) ? realOf(hostPath) : undefined
    const isBelow = real !== undefined && allowed.some((root) => real === root || real.startsWith(root + sep))
    if (isBelow && over === undefined) continue
    throw new GloveboxError(
      'POLICY_ESCALATION',
      `Cannot mount ${guestPath}: the operator does not allow that directory`,
      {
        hint: 'The operator names directories with pool.mount_roots in the settings.',
        facts: { field: 'mounts' },
      },
    )
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
