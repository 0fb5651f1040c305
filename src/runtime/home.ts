// The agent's HOME, TMPDIR and cache. They belong to the project, outlive commands and sandboxes, and are not the operator's.
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentHome } from '../contract/backend.ts'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import { directoryMode } from '../paths/directories.ts'
import { openHostFiles } from '../paths/host-files.ts'
import { guestJoin } from '../paths/guest.ts'
import { isErrno } from '../paths/refusal.ts'

const guestHome = '/home/agent' as GuestPath
const workspace = '/workspace' as GuestPath

/** Below the project if the workspace is one that the agent may write; else in a directory that ends with the sandbox. */
export async function prepareHome(mounts: readonly Mount[], fallback: HostPath, lockDir: HostPath): Promise<AgentHome> {
  const project = mounts.find((mount) => mount.guestPath === workspace && mount.mode === 'rw')
  const root: Mount = project ?? { guestPath: workspace, hostPath: fallback, mode: 'rw' }
  const inside = project === undefined ? ['home'] : ['.glovebox', 'sandbox']
  const home: AgentHome = { guestPath: guestHome, hostPath: join(root.hostPath, ...inside) as HostPath }
  if (project === undefined && makeNew(home.hostPath)) return home
  if (isPrepared(root.hostPath, inside)) return home
  // SECURITY: by descriptor, because a cloned project may bring `.glovebox` along as a link to somewhere else.
  // test/attacks/files: "a project that brings .glovebox as a link is refused"
  const files = openHostFiles({ mounts: [root], protect: [], denyRead: [], lockDir })
  try {
    const place = guestJoin(workspace, ...inside)
    await files.mkdir(guestJoin(place, 'tmp'), { parents: true })
    await files.mkdir(guestJoin(place, '.cache'), { parents: true })
    if (project !== undefined) await keepOutOfGit(files)
  } finally {
    files.close()
  }
  return home
}

/** Where it lies in a directory of ours and was never there, no guest has been, and nothing can stand in the way. */
function makeNew(home: HostPath): boolean {
  try {
    mkdirSync(home)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
  const inside = ['tmp', '.cache'].map((name) => join(home, name))
  for (const place of inside) mkdirSync(place)
  // The operator's umask is for the operator's files; the guest must be able to use these.
  for (const place of [home, ...inside]) chmodSync(place, directoryMode)
  return true
}

/** As it was left by an earlier sandbox: every part a directory and no link. Nothing is made or written then. */
function isPrepared(root: HostPath, inside: readonly string[]): boolean {
  const parts = inside.map((_, index) => join(root, ...inside.slice(0, index + 1)))
  const home = parts.at(-1) ?? root
  return [...parts, join(home, 'tmp'), join(home, '.cache')].every(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  )
}

async function keepOutOfGit(files: ReturnType<typeof openHostFiles>): Promise<void> {
  const path = guestJoin(workspace, '.glovebox', '.gitignore')
  const known = await files.stat(path).catch(() => undefined)
  if (known === undefined) await files.write(path, Buffer.from('*\n'))
}
