// A user namespace that says "this owner on disk is that id in the kernel". The kernel takes one, by descriptor, to
// lay a mount with other owners. The namespace is made by an idle bwrap, which ends with its input: once the descriptor is held,
// or when we are killed.
import type { EventEmitter } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Spawner } from '../../../process/spawn.ts'

export interface OwnerNamespaces {
  /** A descriptor of the namespace for this owner; kept for further mounts. */
  find(uid: number, gid: number): Promise<number>
  close(): Promise<void>
}

export interface OwnerParts {
  readonly spawner: Spawner
  readonly bwrapPath: string
  readonly kernelId: number
  /** Makes the one for root's files, if somebody else has one. */
  readonly ofRoot?: () => Promise<number>
}

export function ownerNamespaces({ spawner, bwrapPath, kernelId, ofRoot }: OwnerParts): OwnerNamespaces {
  const held = new Map<string, Promise<number>>()
  return {
    find(uid, gid) {
      const key = `${uid}:${gid}`
      const known = held.get(key)
      if (known !== undefined) return known
      const made =
        uid === 0 && gid === 0 && ofRoot !== undefined
          ? ofRoot()
          : makeNamespace(spawner, bwrapPath, { uid, gid, kernelId })
      held.set(key, made)
      return made
    },
    async close() {
      for (const made of await Promise.allSettled(held.values())) if (made.status === 'fulfilled') closeSync(made.value)
      held.clear()
    },
  }
}

async function makeNamespace(
  spawner: Spawner,
  bwrapPath: string,
  ids: { readonly uid: number; readonly gid: number; readonly kernelId: number },
): Promise<number> {
  const child = spawner.spawnChild({
    file: bwrapPath,
    // Not --die-with-parent, and a report that needs no reader: a bwrap that is ended while it sets up leaves a child
    // behind that waits for a sign from it for ever.
    args: [
      '--unshare-user',
      '--uid',
      String(ids.uid),
      '--gid',
      String(ids.gid),
      '--json-status-fd',
      '3',
      '--ro-bind',
      '/',
      '/',
      '--',
      '/bin/cat',
    ],
    cwd: '/',
    env: {},
    stdin: 'pipe',
    detached: false,
    uid: ids.kernelId,
    gid: ids.kernelId,
    extraDescriptors: ['reportFromChild'],
  })
  try {
    child.stdin?.on('error', () => {})
    child.stdin?.write('\n')
    const [status, echoed] = await Promise.all([firstChunk(child.pipes[0]), firstChunk(child.stdout)])
    const pid = /"child-pid": (\d+)/.exec(status ?? '')?.[1]
    if (pid === undefined || echoed === undefined) throw new Error('the namespace for file owners could not be made')
    const map = readFileSync(`/proc/${pid}/uid_map`, 'latin1').trim().split(/\s+/).map(Number)
    if (map[0] !== ids.uid || map[1] !== ids.kernelId || map[2] !== 1)
      throw new Error('the namespace for file owners is not as asked')
    return openSync(`/proc/${pid}/ns/user`, 'r')
  } finally {
    child.stdin?.destroy()
  }
}

function firstChunk(stream: EventEmitter | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    stream?.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')))
    stream?.once('end', () => resolve(undefined))
    stream?.once('error', () => resolve(undefined))
    if (stream === undefined) resolve(undefined)
  })
}
