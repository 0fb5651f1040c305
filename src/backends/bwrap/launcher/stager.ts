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
import { dirname } from 'node:path'
import { layerOwners } from './layer-owners.ts'
import { layDirectories } from './layers.ts'
import type { LaidLayers, LayerRequest, StageRequest } from './messages.ts'
import { loadNative } from './native.ts'
import { ownerNamespaces, type OwnerParts } from './owners.ts'

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
  /** Lays these, which lie directly in what was staged, over themselves and read-only: whoever mounts that finds them so. */
  hold(paths: readonly string[]): void
  /** Is something in it held? Then nothing of it can be removed on the host before it is unstaged. */
  holdsIn(target: string): boolean
  /** Directories laid over each other, changes going into the uppermost. Taken away by `unstage` too. */
  layer(request: LayerRequest): Promise<LaidLayers>
  unstage(target: string): void
  /** Gives back descriptors. What is still laid ends with the thread. */
  close(): Promise<void>
}

export function leaveHostAndStage(parts: OwnerParts): Stager {
  const native = loadNative()
  const owners = ownerNamespaces(parts)
  const root = existsSync(stagingRoot) ? stagingRoot : stagingRootWithoutSysfs
  native.leaveHostMounts()
  native.mountTmpfs(root)
  // Most mounts of root's belong to root; its namespace is made while the caller does other things.
  if (parts.ofRoot === undefined) owners.find(0, 0).catch(() => {})
  let count = 0
  const newTarget = (): string => `${root}/${(count += 1)}`
  const holders = new Set<string>()
  return {
    hold(paths) {
      for (const path of paths) {
        holders.add(dirname(path))
        native.holdReadOnly(path)
      }
    },
    holdsIn: (target) => holders.has(target),
    close: () => owners.close(),
    async layer(request) {
      const namespace = await layerOwners(parts, { uid: request.ownerUid, gid: request.ownerGid })
      try {
        return layDirectories({ native, namespace, newTarget }, request)
      } finally {
        closeSync(namespace)
      }
    },
    async stage(request) {
      const namespace = await owners.find(request.ownerUid, request.ownerGid)
      const descriptor = openSync(request.hostPath, openPath | constants.O_NOFOLLOW)
      try {
        const seen = fstatSync(descriptor)
        if (seen.dev !== request.device || seen.ino !== request.inode) throw new Error('the host path was swapped')
        const target = newTarget()
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
