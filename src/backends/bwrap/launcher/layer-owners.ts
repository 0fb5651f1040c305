// The user namespace for layers. It maps two ids, where that for a single mount maps one: the owner on disk is the guest's id
// in the kernel, as there, and root stays somebody on disk too, because overlayfs itself makes files, as the one who mounted
// it, and so do the file actions before they give a file away. An id without a place on disk could make none (EOVERFLOW).
import type { EventEmitter } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import type { Spawner } from '../../../process/spawn.ts'
import { killNamespace } from '../tree.ts'

export interface LayerOwner {
  readonly uid: number
  readonly gid: number
  readonly kernelId: number
}

/** A descriptor of the namespace; the caller closes it. */
export async function layerOwners(spawner: Spawner, bwrapPath: string, owner: LayerOwner): Promise<number> {
  // Its child waits in the new namespace, in which nothing is mapped yet, and is ended before it does anything. Should we be
  // killed instead, both find the end of the pipe, and that "/" is no program; a bwrap that died with us would leave its
  // child waiting for ever.
  const child = spawner.spawnChild({
    file: bwrapPath,
    args: ['--unshare-user', '--userns-block-fd', '3', '--info-fd', '4', '--', '/'],
    cwd: '/',
    env: {},
    stdin: 'none',
    detached: false,
    // SECURITY: never kernel uid 0. test/attacks/kernel: "the guest is not root in the kernel's eyes"
    uid: owner.kernelId,
    gid: owner.kernelId,
    extraDescriptors: ['toChild', 'reportFromChild'],
  })
  const [, report] = child.pipes
  let pid: number | undefined
  try {
    pid = pidIn((await firstChunk(report)) ?? '')
    if (pid === undefined) throw new Error('the namespace for the owners of layers could not be made')
    for (const kind of ['uid', 'gid'] as const) {
      const map = mapOf(owner[kind], owner.kernelId)
      writeFileSync(`/proc/${pid}/${kind}_map`, map)
      if (numbersIn(readFileSync(`/proc/${pid}/${kind}_map`, 'latin1')) !== numbersIn(map))
        throw new Error('the namespace for the owners of layers is not as asked')
    }
    return openSync(`/proc/${pid}/ns/user`, 'r')
  } finally {
    if (pid !== undefined) killNamespace(pid, child.pid)
    for (const pipe of child.pipes) pipe.destroy()
  }
}

function pidIn(report: string): number | undefined {
  const pid = /"child-pid": (\d+)/.exec(report)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

/** Lines of `on disk, in the kernel, how many`. Where root is the owner, root's own files are the guest id's on disk. */
export const mapOf = (owner: number, kernelId: number): string =>
  `${owner} ${kernelId} 1\n${owner === 0 ? kernelId : 0} 0 1\n`

const numbersIn = (map: string): string => (map.match(/\d+/g) ?? []).join(' ')

function firstChunk(stream: EventEmitter | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    stream?.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')))
    stream?.once('end', () => resolve(undefined))
    stream?.once('error', () => resolve(undefined))
    if (stream === undefined) resolve(undefined)
  })
}
