// Lays mounts once more with the guest's unprivileged id as their owner. It works on the mounts of the calling thread alone:
// the thread first leaves the host's mount namespace, and what is laid ends with the thread, however that ends.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import type { Spawner } from '../../../process/spawn.ts'
import type { StageRequest } from './messages.ts'
import { loadNative } from './native.ts'
import { ownerNamespaces } from './owners.ts'

// The guest gets no /sys, so in this namespace a directory there is free; it exists everywhere and anyone may traverse it.
// Not /sys itself: Node's pool of threads sees the mounts of whichever thread first made it work, which may be this one,
// and through that pool the control groups below /sys are made and removed.
const stagingRoot = '/sys/kernel'
// Where there is no sysfs, there is nothing to hide.
const stagingRootWithoutSysfs = '/sys'
const openPath = 0o10000000

export interface Stager {
  /** Gives the path at which bwrap, started from this thread, finds it. */
  stage(request: StageRequest): Promise<string>
  unstage(target: string): void
  /** Gives back descriptors. What is still laid ends with the thread. */
  close(): Promise<void>
}

export function leaveHostAndStage(spawner: Spawner, bwrapPath: string, kernelId: number): Stager {
  const native = loadNative()
  const owners = ownerNamespaces(spawner, bwrapPath, kernelId)
  const root = existsSync(stagingRoot) ? stagingRoot : stagingRootWithoutSysfs
  native.leaveHostMounts()
  native.mountTmpfs(root)
  // Most mounts of root's belong to root; its namespace is made while the caller does other things.
  owners.find(0, 0).catch(() => {})
  let count = 0
  return {
    close: () => owners.close(),
    async stage(request) {
      const namespace = await owners.find(request.ownerUid, request.ownerGid)
      const descriptor = openSync(request.hostPath, openPath | constants.O_NOFOLLOW)
      try {
        const seen = fstatSync(descriptor)
        if (seen.dev !== request.device || seen.ino !== request.inode) throw new Error('the host path was swapped')
        count += 1
        const target = `${root}/${count}`
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
    },
    unstage(target) {
      native.detach(target)
      try {
        rmdirSync(target)
      } catch {
        unlinkSync(target)
      }
    },
  }
}
