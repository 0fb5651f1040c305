// The launcher for root in a process that is all ours, such as the command line: its main thread may leave the host's mounts
// itself, which saves the start of a thread. Never used inside somebody's program, whose own children would be affected.
import { openSpawner } from '../../../process/spawn.ts'
import { guestKernelId } from './kernel-id.ts'
import type { Launcher } from './launcher.ts'
import { leaveHostAndStage } from './stager.ts'

export function openOwnedLauncher(bwrapPath: string): Launcher {
  const spawner = openSpawner()
  const stager = leaveHostAndStage(spawner, bwrapPath, guestKernelId)
  return {
    stage: (request) => stager.stage(request),
    // The mounts end with the process, which ends with its sandbox.
    unstage: () => Promise.resolve(),
    launch: (request) =>
      // SECURITY: never kernel uid 0 outside. test/attacks/kernel: "the guest is not root in the kernel's eyes"
      Promise.resolve(
        spawner.spawnChild({ ...request, cwd: '/', env: {}, detached: false, uid: guestKernelId, gid: guestKernelId }),
      ),
    close: async () => {
      await stager.close()
      spawner.close()
    },
  }
}
