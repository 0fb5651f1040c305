// The launcher for root in a process that is all ours, such as the command line: its main thread may leave the host's mounts
// itself, which saves the start of a thread. Never used inside somebody's program, whose own children would be affected.
import { loadLightSpawner } from '../../../process/light-spawn.ts'
import { loadPipes } from '../../../process/pipes.ts'
import { openSpawner, type Spawner } from '../../../process/spawn.ts'
import { guestKernelId } from './kernel-id.ts'
import type { Launcher } from './launcher.ts'
import { openLightStarter, type Starter } from './light-starter.ts'
import { startOwnerWarden, type OwnerWarden } from './owner-warden.ts'
import { leaveHostAndStage, type Stager } from './stager.ts'

// SECURITY: never kernel uid 0 outside. test/attacks/kernel: "the guest is not root in the kernel's eyes"
const ids = { uid: guestKernelId, gid: guestKernelId }

export function openOwnedLauncher(bwrapPath: string): Launcher {
  const makePipe = loadPipes()
  if (makePipe === undefined) throw new Error('koffi is not installed')
  const light = loadLightSpawner()
  const spawner = openSpawner()
  const starter = light === undefined ? forking(spawner) : openLightStarter({ spawner: light, makePipe, ids })
  const closeStarters = (): void => {
    starter.close()
    spawner.close()
  }
  const warden = orUndo(closeStarters, () =>
    startOwnerWarden({ bwrapPath, kernelId: guestKernelId, makePipe, start: (one) => starter.startWarden(one) }),
  )
  const stager = stageWith(spawner, bwrapPath, warden, closeStarters)
  return {
    stage: (request) => stager.stage(request),
    layer: (request) => stager.layer(request),
    hold: (paths) => stager.hold(paths),
    // The others end with the process, which ends with its sandbox.
    unstage: async (target) => {
      if (stager.holdsIn(target)) stager.unstage(target)
    },
    guard: (token) => warden.guard(token),
    launch: (request) => starter.launch(request),
    close: async () => {
      warden.close()
      await stager.close()
      closeStarters()
    },
  }
}

function stageWith(spawner: Spawner, bwrapPath: string, warden: OwnerWarden, closeStarters: () => void): Stager {
  const undo = (): void => {
    warden.close()
    closeStarters()
  }
  return orUndo(undo, () =>
    leaveHostAndStage({ spawner, bwrapPath, kernelId: guestKernelId, ofRoot: () => warden.namespace() }),
  )
}

function orUndo<T>(undo: () => void, work: () => T): T {
  try {
    return work()
  } catch (error) {
    undo()
    throw error
  }
}

/** Where a child cannot be started without a copy of this process. */
const forking = (spawner: Spawner): Starter => ({
  startWarden(request) {
    const child = spawner.startRaw({ ...request, ...ids, cwd: '/', detached: true })
    child.on('error', () => {})
    child.unref()
  },
  launch: (request) => Promise.resolve(spawner.spawnChild({ ...request, ...ids, cwd: '/', env: {}, detached: false })),
  close: () => {},
})
