// The launcher's thread, used when root started us inside somebody's program. It leaves the host's mounts, stages those of
// sandboxes, and starts bwrap as an unprivileged id; the program's other threads are not touched.
import { closeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { loadLightSpawner } from '../../../process/light-spawn.ts'
import { openSpawner } from '../../../process/spawn.ts'
import { followLightChildren } from './light-children.ts'
import type { Answer, FromThread, LaunchRequest, ThreadData, ToThread } from './messages.ts'
import { leaveHostAndStage, type Stager } from './stager.ts'

const port = parentPort
if (port === null) throw new Error('this file runs only as a thread of the launcher')
const { bwrapPath, kernelId } = workerData as ThreadData
const spawner = openSpawner()
const stager = openStager()
const say = (message: FromThread): void => port.postMessage(message)

const lightSpawner = loadLightSpawner()
const light =
  lightSpawner === undefined
    ? undefined
    : followLightChildren(lightSpawner, (pid, { code, signal }) => say({ kind: 'exited', pid, code, signal }))

function launch(request: LaunchRequest): number {
  const { file, args, stdio, seesEnd } = request
  try {
    if (light !== undefined && seesEnd) return light.start({ file, args, stdio, uid: kernelId, gid: kernelId })
    const child = spawner.startRaw({
      file,
      args,
      cwd: '/',
      env: {},
      detached: false,
      // SECURITY: never kernel uid 0 outside. test/attacks/kernel: "the guest is not root in the kernel's eyes"
      uid: kernelId,
      gid: kernelId,
      stdio,
    })
    const pid = child.pid
    if (pid === undefined) {
      child.once('error', () => {})
      throw new Error('bwrap could not be started')
    }
    child.once('exit', (code, signal) => say({ kind: 'exited', pid, code, signal }))
    return pid
  } finally {
    for (const descriptor of request.childEnds) closeSync(descriptor)
  }
}

function openStager(): Stager {
  try {
    return leaveHostAndStage({ spawner, bwrapPath, kernelId })
  } catch (error) {
    spawner.close()
    throw error
  }
}

// A thread's end closes no descriptor of its own accord, since it was also given some that are not its own.
async function close(): Promise<number> {
  light?.close()
  await stager.close()
  spawner.close()
  return 0
}

async function perform(message: ToThread): Promise<Answer> {
  if (message.kind === 'stage') return stager.stage(message.request)
  if (message.kind === 'layer') return stager.layer(message.request)
  if (message.kind === 'launch') return launch(message.request)
  if (message.kind === 'ended') {
    await light?.look(message.pid)
    return message.pid
  }
  if (message.kind === 'close') return close()
  stager.unstage(message.target)
  return message.target
}

/** The code tells a fault of the machine from others, and an error's own does not cross between threads. */
function toldOf(error: unknown): { readonly what: string; readonly code?: string } {
  if (!(error instanceof Error)) return { what: String(error) }
  return 'code' in error ? { what: error.message, code: String(error.code) } : { what: error.message }
}

port.on('message', (message: ToThread) => {
  void perform(message).then(
    (value) => say({ kind: 'done', serial: message.serial, value }),
    (error: unknown) => say({ kind: 'failed', serial: message.serial, ...toldOf(error) }),
  )
})
say({ kind: 'ready' })
