// Starts bwrap for the boundary. There are two launchers: an ordinary user's children are started as they are; root's are
// started by a thread that gave up the host's mounts and enters the boundary as an unprivileged id. Both give the same child.
import type { ExtraDescriptor, SpawnedChild } from '../../../process/spawn.ts'
import { openSpawner } from '../../../process/spawn.ts'
import type { StageRequest } from './messages.ts'

export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  readonly stdin: 'none' | 'pipe'
  readonly extraDescriptors: readonly ExtraDescriptor[]
}

export interface Launcher {
  /** Gives the path at which bwrap finds this host path, owned by the guest's id. Absent: bwrap uses the host path itself. */
  readonly stage?: (request: StageRequest) => Promise<string>
  unstage(target: string): Promise<void>
  launch(request: Launch): Promise<SpawnedChild>
  close(): Promise<void>
}

export function openDirectLauncher(): Launcher {
  const spawner = openSpawner()
  return {
    unstage: () => Promise.resolve(),
    launch: (request) => Promise.resolve(spawner.spawnChild({ ...request, cwd: '/', env: {}, detached: false })),
    close: () => Promise.resolve(spawner.close()),
  }
}
