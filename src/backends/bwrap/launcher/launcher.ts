// Starts bwrap for the boundary. An ordinary user's children are started as they are; root's are started with an
// unprivileged id out of a private mount namespace: a thread's, or the whole process's where that is Glovebox's own.
// Promises the same child whoever starts it, and that bwrap never runs as root. Must not know what the command line
// means: it carries words and descriptors, and policy has been decided before.
import type { ExtraDescriptor, SpawnedChild } from '../../../process/spawn.ts'
import { openSpawner } from '../../../process/spawn.ts'
import type { Warden } from '../../../process/warden.ts'
import type { StandardInput } from '../../../process/wiring.ts'
import type { LaidLayers, LayerRequest, StageRequest } from './messages.ts'

export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  readonly stdin: StandardInput
  readonly extraDescriptors: readonly ExtraDescriptor[]
}

export interface Launcher {
  /** Gives the path at which bwrap finds this host path, owned by the guest's id. Absent: bwrap uses the host path itself. */
  readonly stage?: (request: StageRequest) => Promise<string>
  /** Lays names over themselves, read-only, each directly in what was staged: bwrap then finds them so with the rest of it, and takes
   * a tenth of the time of laying them itself. Absent: bwrap lays them. */
  readonly hold?: (paths: readonly string[]) => void
  /** Absent: this launcher cannot lay directories over each other. */
  readonly layer?: (request: LayerRequest) => Promise<LaidLayers>
  unstage(target: string): Promise<void>
  /** Absent: it has no warden of its own. */
  readonly guard?: (token: string) => Warden
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
