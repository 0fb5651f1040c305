// A user namespace with the maps that it is asked for, and nothing else: the kernel takes one, by descriptor, to lay a mount
// with other owners. An idle bwrap makes it. Its child waits in the new namespace, in which nothing is mapped yet, and is ended
// before it does anything, so not a single mount is laid: whoever binds all of the host's mounts fails by chance where one of
// them goes meanwhile, as those of containers do.
import type { EventEmitter } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import type { SpawnedChild, Spawner } from '../../../process/spawn.ts'
import { killNamespace } from '../tree.ts'

export interface NamespaceMaps {
  /** Lines of `on disk, in the kernel, how many`. */
  readonly uid: string
  readonly gid: string
}

export interface NamespaceMaker {
  readonly spawner: Spawner
  readonly bwrapPath: string
  /** Who the idle bwrap is in the kernel. */
  readonly kernelId: number
}

/** A descriptor of the namespace; the caller closes it. */
export async function makeUserNamespace(
  { spawner, bwrapPath, kernelId }: NamespaceMaker,
  maps: NamespaceMaps,
): Promise<number> {
  // Should we be killed before we end the child, both find the end of the pipe, and that "/" is no program; a bwrap that died
  // with us would leave its child waiting for ever.
  const child = spawner.spawnChild({
    file: bwrapPath,
    args: ['--unshare-user', '--userns-block-fd', '3', '--info-fd', '4', '--', '/'],
    cwd: '/',
    env: {},
    stdin: 'none',
    detached: false,
    // SECURITY: never kernel uid 0. test/attacks/kernel: "the guest is not root in the kernel's eyes"
    uid: kernelId,
    gid: kernelId,
    extraDescriptors: ['toChild', 'reportFromChild'],
  })
  const [, report] = child.pipes
  const complaint = listenTo(child)
  let pid: number | undefined
  try {
    pid = pidIn((await firstChunk(report)) ?? '')
    if (pid === undefined) throw new Error(`the namespace for file owners could not be made: ${await complaint()}`)
    for (const kind of ['uid', 'gid'] as const) {
      writeFileSync(`/proc/${pid}/${kind}_map`, maps[kind])
      if (numbersIn(readFileSync(`/proc/${pid}/${kind}_map`, 'latin1')) !== numbersIn(maps[kind]))
        throw new Error('the namespace for file owners is not as asked')
    }
    return openSync(`/proc/${pid}/ns/user`, 'r')
  } finally {
    if (pid !== undefined) killNamespace(pid, child.pid)
    for (const pipe of child.pipes) pipe.destroy()
  }
}

/** Gives what the child said when it ended by itself. */
function listenTo(child: SpawnedChild): () => Promise<string> {
  let said = ''
  child.stdout.resume()
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
  const silent = new Promise((resolve) => child.stderr.once('close', resolve))
  return async () => {
    const [{ code, signal, error }] = await Promise.all([child.ended, silent])
    return said.trim() || error?.message || `bwrap ended with ${code ?? signal}`
  }
}

function pidIn(report: string): number | undefined {
  const pid = /"child-pid": (\d+)/.exec(report)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

const numbersIn = (map: string): string => (map.match(/\d+/g) ?? []).join(' ')

function firstChunk(stream: EventEmitter | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    stream?.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')))
    stream?.once('end', () => resolve(undefined))
    stream?.once('error', () => resolve(undefined))
    if (stream === undefined) resolve(undefined)
  })
}
