// Whether a boundary that others can take away still answers. Containers are the daemon's, and can be ended by whoever may speak to it;
// a boundary that has lost one makes another, but only after a command was lost with it. So a command that matters to nobody goes first.
import type { Boundary } from '../../contract/backend.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { Life } from '../../pool/ports.ts'

export const canEndOthers = (backend: string): boolean => backend === 'docker'

const patienceMs = 2000

/** A daemon that does not answer is not a sandbox that is dead. */
export async function tryOut(boundary: Boundary): Promise<Life> {
  const late = new Promise<Life>((resolve) => setTimeout(() => resolve('unknown'), patienceMs).unref())
  return Promise.race([answer(boundary), late])
}

async function answer(boundary: Boundary): Promise<Life> {
  try {
    const child = await boundary.spawn({ argv: ['true'], cwd: '/tmp' as GuestPath, env: {}, stdin: 'none' })
    child.stdout.resume()
    child.stderr.resume()
    const { lost } = await child.exit
    // It is gone for the boundary too by now, which makes another for the next command.
    return lost === undefined ? 'alive' : 'unknown'
  } catch {
    return 'unknown'
  }
}
