// Where a path of the guest lies on the host, for a run that may have ended and has no sandbox.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { GuestPath, HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { findInside, openRoot } from '../paths/descriptor.ts'
import { parseGuestPath, segmentsOf } from '../paths/guest.ts'

/**
 * Where a path of the guest lies on the host. For showing and for handing to the operator's own programs; whoever opens
 * files of a run by it races with the guest, and uses the sandbox's file access instead.
 */
export function resolveSandboxPath(run: { readonly directory: string }, userPath: string): HostPath {
  const path = parseGuestPath(userPath, '/workspace' as GuestPath)
  const [root, ...names] = segmentsOf(path)
  if (root !== 'workspace' && root !== 'deliverables') {
    throw new GloveboxError('OUTSIDE_MOUNTS', `Cannot use ${path}: it lies outside every mount`, {
      hint: 'The mounts are: /deliverables, /workspace.',
    })
  }
  const hostRoot = join(run.directory, root)
  refuseLinks(hostRoot, path, names)
  return join(hostRoot, ...names) as HostPath
}

// SECURITY: a link on the way would make the text mean another place than it says. src/runs/doors: "resolveSandboxPath refuses a path that leads through a link"
function refuseLinks(hostRoot: string, path: GuestPath, names: readonly string[]): void {
  let directory = openRoot(hostRoot)
  try {
    for (const name of names) {
      const found = findInside(directory.fd, name)
      if (found === undefined) return
      closeSync(directory.fd)
      directory = found
      if (found.stats.isSymbolicLink()) {
        throw new GloveboxError('LINK_REFUSED', `Cannot use ${path}: it leads through a link`)
      }
      if (!found.stats.isDirectory()) return
    }
  } finally {
    closeSync(directory.fd)
  }
}
