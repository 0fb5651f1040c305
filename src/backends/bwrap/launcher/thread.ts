// The launcher's thread, used only when root started us. It lives in a mount namespace of its own, in which each mount of
// a sandbox is laid once more with the guest's unprivileged id as owner; bwrap is started from here, as that id, and so
// finds them. The namespace is the thread's: it ends with the process, however that ends, and leaves no mount behind.
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { openSpawner } from '../../../process/spawn.ts'
import type { FromThread, LaunchRequest, StageRequest, ThreadData, ToThread } from './messages.ts'
import { loadNative } from './native.ts'
import { ownerNamespaces } from './owners.ts'

// The guest gets no /sys, so in this namespace the directory is free; it exists everywhere and anyone may traverse it.
const stagingRoot = '/sys'
const openPath = 0o10000000

const port = parentPort
if (port === null) throw new Error('this file runs only as a thread of the launcher')
const { bwrapPath, kernelId } = workerData as ThreadData
const native = loadNative()
const spawner = openSpawner()
const owners = ownerNamespaces(spawner, bwrapPath, kernelId)
const say = (message: FromThread): void => port.postMessage(message)

native.leaveHostMounts()
native.mountTmpfs(stagingRoot)
let stagedCount = 0

async function stage(request: StageRequest): Promise<string> {
  const namespace = await owners.find(request.ownerUid, request.ownerGid)
  const descriptor = openSync(request.hostPath, openPath | constants.O_NOFOLLOW)
  try {
    const seen = fstatSync(descriptor)
    if (seen.dev !== request.device || seen.ino !== request.inode) throw new Error('the host path was swapped')
    stagedCount += 1
    const target = `${stagingRoot}/${stagedCount}`
    if (seen.isDirectory()) mkdirSync(target)
    else writeFileSync(target, '')
    const tree = native.cloneWithOwners(descriptor, namespace)
    try {
      native.attach(tree, target)
    } finally {
      closeSync(tree)
    }
    return target
  } finally {
    closeSync(descriptor)
  }
}

function unstage(target: string): void {
  native.detach(target)
  try {
    rmdirSync(target)
  } catch {
    unlinkSync(target)
  }
}

function launch(request: LaunchRequest): number {
  try {
    const child = spawner.startRaw({
      file: request.file,
      args: request.args,
      cwd: '/',
      env: {},
      detached: false,
      // SECURITY: never kernel uid 0 outside. test/attacks/kernel: "the guest is not root in the kernel's eyes"
      uid: kernelId,
      gid: kernelId,
      stdio: request.stdio,
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

async function perform(message: ToThread): Promise<string | number> {
  if (message.kind === 'stage') return stage(message.request)
  if (message.kind === 'launch') return launch(message.request)
  unstage(message.target)
  return message.target
}

port.on('message', (message: ToThread) => {
  void perform(message).then(
    (value) => say({ kind: 'done', serial: message.serial, value }),
    (error: unknown) =>
      say({ kind: 'failed', serial: message.serial, what: error instanceof Error ? error.message : String(error) }),
  )
})
say({ kind: 'ready' })
