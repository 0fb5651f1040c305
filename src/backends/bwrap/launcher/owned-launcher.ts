// The launcher for root in a process that is all ours, such as the command line: its main thread may leave the host's mounts
// itself, which saves the start of a thread. Never used inside somebody's program, whose own children would be affected.
import { openSpawner, type Spawner } from '../../../process/spawn.ts'
import { guestKernelId } from './kernel-id.ts'
import type { Launcher } from './launcher.ts'
import { startOwnerWarden, type OwnerWarden } from './owner-warden.ts'
import { leaveHostAndStage, type Stager } from './stager.ts'

export function openOwnedLauncher(bwrapPath: string): Launcher {
  const spawner = openSpawner()
  const warden = startOwnerWarden(spawner, bwrapPath, guestKernelId)
  const stager = stageWith(spawner, bwrapPath, warden)
  return {
    stage: (request) => stager.stage(request),
    layer: (request) => stager.layer(request),
    // The mounts end with the process, which ends with its sandbox.
    unstage: () => Promise.resolve(),
    guard: (token) => warden.guard(token),
    launch: (request) =>
      // SECURITY: never kernel uid 0 outside. test/attacks/kernel: "the guest is not root in the kernel's eyes"
      Promise.resolve(
        spawner.spawnChild({ ...request, cwd: '/', env: {}, detached: false, uid: guestKernelId, gid: guestKernelId }),
      ),
    close: async () => {
      warden.close()
      await stager.close()
      spawner.close()
    },
  }
}

function stageWith(spawner: Spawner, bwrapPath: string, warden: OwnerWarden): Stager {
  try {
    return leaveHostAndStage({ spawner, bwrapPath, kernelId: guestKernelId, ofRoot: () => warden.namespace() })
  } catch (error) {
    warden.close()
    spawner.close()
    throw error
  }
}
