// Lays directories over each other with overlayfs, in the mount namespace of the calling thread. overlayfs itself cannot show
// other owners, but takes layers that do: each layer is first cloned with the guest's id as its owner. The clones are taken
// away as soon as overlayfs has its own, so that nobody who is started from this namespace can reach a layer by itself.
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { LaidLayers, LayerRequest, PinnedDirectory } from './messages.ts'
import type { Native } from './native.ts'

const openPath = 0o10000000

export interface LayingTools {
  readonly native: Native
  /** The owners that the layers are to have. */
  readonly namespace: number
  /** A path at which nothing is yet, and anyone may look. */
  readonly newTarget: () => string
}

export function layDirectories(tools: LayingTools, { upper, work, lower }: LayerRequest): LaidLayers {
  const { native, newTarget } = tools
  // overlayfs wants both on one mount, so what holds both is cloned.
  const above = commonDirectory(upper.hostPath, work)
  const clones: string[] = []
  const clone = (hostPath: string, pinned?: PinnedDirectory): string => {
    const target = cloneAt(tools, hostPath, pinned)
    clones.push(target)
    return target
  }
  try {
    const changing = clone(above)
    const below = lower.map((directory) => clone(directory.hostPath, directory))
    const target = newTarget()
    mkdirSync(target)
    try {
      native.mountOverlay(target, {
        lower: below,
        upper: requireSame(`${changing}/${relative(above, upper.hostPath)}`, upper),
        work: `${changing}/${relative(above, work)}`,
      })
    } catch (error) {
      rmdirSync(target)
      throw error
    }
    return { target, descriptor: openSync(target, openPath | constants.O_DIRECTORY) }
  } finally {
    for (const target of clones) {
      native.detach(target)
      rmdirSync(target)
    }
  }
}

function cloneAt({ native, namespace, newTarget }: LayingTools, hostPath: string, pinned?: PinnedDirectory): string {
  const descriptor = openSync(hostPath, openPath | constants.O_NOFOLLOW | constants.O_DIRECTORY)
  try {
    if (pinned !== undefined) compare(descriptor, pinned)
    const tree = native.cloneWithOwners(descriptor, namespace)
    try {
      const target = newTarget()
      mkdirSync(target)
      native.attach(tree, target)
      return target
    } finally {
      closeSync(tree)
    }
  } finally {
    closeSync(descriptor)
  }
}

function requireSame(path: string, pinned: PinnedDirectory): string {
  if (/[,:\\]/.test(path)) throw new Error('the path of a layer has a character that separates options')
  const descriptor = openSync(path, openPath | constants.O_NOFOLLOW | constants.O_DIRECTORY)
  try {
    compare(descriptor, pinned)
    return path
  } finally {
    closeSync(descriptor)
  }
}

function compare(descriptor: number, { device, inode }: PinnedDirectory): void {
  const seen = fstatSync(descriptor)
  if (seen.dev !== device || seen.ino !== inode) throw new Error('the host path of a layer was swapped')
}

export function commonDirectory(one: string, other: string): string {
  let directory = dirname(one)
  while (directory !== '/' && !`${other}/`.startsWith(`${directory}/`)) directory = dirname(directory)
  return directory
}
