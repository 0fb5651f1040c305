// How a member's files can become another's on this host: seen through where the backend can lay layers, and copied elsewhere. Tried
// once for each backend, since no file system says so.
import { statSync } from 'node:fs'
import type { HostPath } from '../../contract/mount.ts'
import { canReflink } from '../../runs/fork/method.ts'
import { tryOverlay } from '../runs/fork.ts'
import { triedOnce } from '../runs/overlay-tries.ts'
import type { ServedBackends } from '../server/backends.ts'
import { makePlace, membersIn, snapshotsIn } from './place.ts'
import type { Method } from './snapshots.ts'

export function methodChooser(state: HostPath, backends: ServedBackends): (backend: string) => Promise<Method> {
  const tried = new Map<string, Promise<Method>>()
  const choose = async (name: string): Promise<Method> => {
    const [members, snapshots] = [membersIn(state), snapshotsIn(state)]
    makePlace(members)
    makePlace(snapshots)
    const backend = await backends.get(name)
    const device = statSync(members).dev
    const why =
      device === statSync(snapshots).dev
        ? await triedOnce(state, { backend: name, device }, () => tryOverlay(backend, [snapshots], members))
        : 'members and snapshots lie on different file systems'
    if (why === null) return { by: 'overlay', why }
    return { by: canReflink(members, snapshots) ? 'reflink' : 'copy', why }
  }
  return (name) => {
    const trying = tried.get(name) ?? choose(name)
    tried.set(name, trying)
    trying.catch(() => tried.delete(name))
    return trying
  }
}
