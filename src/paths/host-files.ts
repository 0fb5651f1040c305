// File access for every backend that binds directories of the host. It promises that an operation reaches
// exactly what its guest path means inside the mounts, by descriptor; that writes are atomic, serialised
// and owned by the mount's owner; and that no message names a host path. It knows no backend and no policy
// layers: mounts, protected names and hidden paths are handed to it.
import { closeSync } from 'node:fs'
import type { FileAccess } from '../contract/files.ts'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { appendFile } from './append.ts'
import type { MountRoot } from './contain.ts'
import { openRoot, procIsMounted } from './descriptor.ts'
import { refuseHere } from './elsewhere.ts'
import { parseGuestPath } from './guest.ts'
import { holdRules, whenAsked, type Held } from './held.ts'
import { listDirectory } from './list.ts'
import { openLocks } from './lock.ts'
import { statPath } from './look.ts'
import { makeDirectory } from './mkdir.ts'
import { ownerLike } from './owner.ts'
import { readFile } from './read.ts'
import { asRefusal, isErrno, refusal, type Question } from './refusal.ts'
import { removePath } from './remove.ts'
import { renamePath } from './rename.ts'
import { compileRules } from './rules.ts'
import { mountTable } from './table.ts'
import type { WritableReach } from './target.ts'
import { updateFile, writeFile } from './write.ts'

export interface HostFilesOptions {
  readonly mounts: readonly Mount[]
  /** Names below every writable mount that may be neither changed nor created. */
  readonly protect: readonly string[]
  /** Guest paths that are hidden, with all below them. */
  readonly denyRead: readonly string[]
  /** Where lock files are kept: one directory for all who share the mounts, out of the guest's reach. */
  readonly lockDir: HostPath
  /** No guest can move what the rules name, because the backend pins it; so its identity may be noted at the first use. */
  readonly namesArePinned?: boolean
  /** How long a write waits for others before BUSY. */
  readonly lockWaitMs?: number
}

export interface HostFiles extends FileAccess {
  /** O_PATH descriptor of the mount's root, open until `close`. For binding the very directory that is walked. */
  rootDescriptor(mount: Mount): number
  close(): void
}

export function openHostFiles(options: HostFilesOptions): HostFiles {
  if (process.platform !== 'linux' || !procIsMounted()) throw refuseHere()
  const reach = openReach(options)
  return { ...access(reach), rootDescriptor: (mount) => reach.root(mount).fd, close: () => reach.close() }
}

interface OpenReach extends WritableReach {
  close(): void
}

function openReach(options: HostFilesOptions): OpenReach {
  const table = mountTable(options.mounts)
  const rules = compileRules(options)
  const roots = openRoots(options.mounts)
  const root = (mount: Mount): MountRoot => {
    const found = roots.get(mount.guestPath)
    // After close the numbers may belong to other files, so nothing may ask for them.
    if (found === undefined) throw new GloveboxError('SANDBOX_GONE', 'Cannot reach files: the sandbox has been killed')
    return found
  }
  try {
    const hold = (): Held => holdRules({ table, rules, root })
    const held = options.namesArePinned === true ? whenAsked(hold) : hold()
    const locks = openLocks(options.lockDir, options.lockWaitMs === undefined ? {} : { waitMs: options.lockWaitMs })
    const close = (): void => {
      if (roots.size === 0) return
      closeRoots(roots)
      held.close()
      locks.close()
    }
    return { table, rules, root, held, locks, close }
  } catch (error) {
    closeRoots(roots)
    throw error
  }
}

function openRoots(mounts: readonly Mount[]): Map<GuestPath, MountRoot> {
  const roots = new Map<GuestPath, MountRoot>()
  try {
    for (const mount of mounts) roots.set(mount.guestPath, openMount(mount))
    return roots
  } catch (error) {
    closeRoots(roots)
    throw error
  }
}

function openMount(mount: Mount): MountRoot {
  try {
    const opened = openRoot(mount.hostPath)
    return { ...opened, mount, owner: ownerLike(opened.stats) }
  } catch (error) {
    // A want of descriptors is nothing about the directory; whoever makes the sandbox tells of it.
    if (!isErrno(error) || error.code === 'EMFILE' || error.code === 'ENFILE') throw error
    const code = error.code === 'ENOENT' ? 'NOT_FOUND' : error.code === 'ENOTDIR' ? 'NOT_A_DIRECTORY' : 'NOT_PERMITTED'
    throw refusal(code, { verb: 'mount', path: mount.guestPath }, 'the directory behind it cannot be opened', {
      operatorDetail: `${mount.hostPath}: ${error.message}`,
    })
  }
}

function closeRoots(roots: Map<GuestPath, MountRoot>): void {
  for (const { fd } of roots.values()) closeSync(fd)
  roots.clear()
}

function access(reach: WritableReach): FileAccess {
  return {
    stat: (path) => answer('stat', path, (asked) => statPath(reach, asked)),
    list: (path, options) => answer('list', path, (asked) => listDirectory(reach, asked, options)),
    read: (path, options) => answer('read', path, (asked) => readFile(reach, asked, options)),
    write: (path, bytes, options) => answer('write', path, (asked) => writeFile(reach, asked, bytes, options ?? {})),
    append: (path, bytes) => answer('append to', path, (asked) => appendFile(reach, asked, bytes)),
    update: (path, options, change) => answer('change', path, (asked) => updateFile(reach, asked, options, change)),
    mkdir: (path, options) => answer('make directory', path, (asked) => makeDirectory(reach, asked, options ?? {})),
    remove: (path, options) => answer('remove', path, (asked) => removePath(reach, asked, options ?? {})),
    rename: (from, to) => answer('rename', from, (asked) => renamePath(reach, asked, parseGuestPath(to))),
  }
}

/** Parsed again, because a type is no proof; and every failure of the system leaves as one of ours. */
async function answer<T>(verb: string, path: GuestPath, work: (asked: Question) => T | Promise<T>): Promise<T> {
  const asked: Question = { verb, path: parseGuestPath(path) }
  try {
    return await work(asked)
  } catch (error) {
    throw asRefusal(error, asked)
  }
}
