// Containers by name and by label. What we made carries the mark of this installation, and nothing without it is ever touched.
import { readdirSync, readFileSync } from 'node:fs'
import { kill } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import type { DockerCli } from './cli.ts'
import { codeOfKilled, hasEventOfMemory, inSeconds, isToldOfMemory } from './late-memory.ts'

export interface Listed {
  readonly name: string
  readonly sandbox: SandboxId
  /** Nobody is left who could use it. */
  readonly orphaned: boolean
  /** This process made it. */
  readonly ours: boolean
  /** It was made to go on without its maker. */
  readonly lasting: boolean
}

/** Of its first process, as the daemon's host sees it. */
export interface Whereabouts {
  readonly pid: number
  readonly id: string
}

/** Of a container that nobody asked to end. */
export interface UnexpectedEnd {
  readonly startedMs: number
  readonly code: number | null
}

export interface Containers {
  labels(sandbox: SandboxId): Readonly<Record<string, string>>
  /** Did it run out of memory? Told by the daemon, which remembers its last events when the container is gone. */
  ranOutOfMemory(name: string, end: UnexpectedEnd): Promise<boolean>
  /** Holds what runs in them to less. Rejects if the daemon refuses. */
  limit(names: readonly string[], flags: readonly string[]): Promise<void>
  /** Ends one that may just be starting, and removes it. */
  end(name: string, child: SpawnedChild): Promise<void>
  /** Ends what is left of one whose daemon has died, if it runs on this host. */
  endHere(name: string): void
  remove(...names: readonly string[]): Promise<void>
  /** Undefined where it does not run. */
  find(name: string): Promise<Whereabouts | undefined>
  /** Of this installation, whoever made them. */
  list(): Promise<readonly Listed[]>
}

const patienceMs = 10_000

export interface ContainersOptions {
  readonly installation: string
  /** Docker does not remove them with their end. */
  readonly keepsEnded: boolean
}

export function openContainers(cli: DockerCli, { installation, keepsEnded }: ContainersOptions): Containers {
  const remove = async (...names: readonly string[]): Promise<void> => {
    if (names.length > 0) await cli.ask(['rm', '--force', '--volumes', '--', ...names])
  }
  const stop = async (name: string, child: SpawnedChild): Promise<void> => {
    const until = Date.now() + patienceMs
    let isOver = false
    const ended = child.ended.then(() => (isOver = true))
    // One that is just being made is not there yet, and would be in a moment.
    for (let pauseMs = 0; Date.now() < until; pauseMs = Math.min(pauseMs + 25, 250)) {
      await delay(pauseMs)
      if (isOver) return
      const { code } = await cli.ask(['kill', '--', name])
      if (code === 0) await Promise.race([ended, delay(until - Date.now(), undefined, { ref: false })])
    }
    if (isOver) return
    child.kill('SIGKILL')
    await remove(name)
    endHere(name)
  }
  return {
    labels: (sandbox) => ({ installation, sandbox, owner: ownerMark(ownIdentity()) }),
    async ranOutOfMemory(name, { startedMs, code }) {
      const isTold = (): Promise<boolean> => hasEventOfMemory(cli, name, inSeconds(startedMs - 1000))
      return code === codeOfKilled ? isToldOfMemory(isTold) : isTold()
    },
    async limit(names, flags) {
      if (names.length === 0 || flags.length === 0) return
      const { code, stderr } = await cli.ask(['update', ...flags, '--', ...names])
      if (code !== 0) throw cannotLimit(stderr)
    },
    async end(name, child) {
      await stop(name, child)
      if (keepsEnded) await remove(name)
    },
    endHere,
    remove,
    async find(name) {
      const { stdout } = await cli.ask(['container', 'inspect', '--format', '{{.State.Pid}} {{.Id}}', '--', name])
      const [, pid, id] = /^([1-9]\d*) ([0-9a-f]{64})$/.exec(stdout.trim()) ?? []
      return pid === undefined || id === undefined ? undefined : { pid: Number(pid), id }
    },
    async list() {
      const format =
        '{{.Names}}\t{{.Label "dev.glovebox.sandbox"}}\t{{.Label "dev.glovebox.owner"}}\t{{.Label "dev.glovebox.lasting"}}'
      // SECURITY: test/attacks/docker: "a container of another installation is neither listed nor removed"
      const filter = `label=dev.glovebox.installation=${installation}`
      const { stdout } = await cli.ask(['ps', '--all', '--no-trunc', '--filter', filter, '--format', format])
      return stdout.split('\n').flatMap((line): Listed[] => {
        const [name = '', sandbox = '', owner = '', lasting = ''] = line.split('\t')
        if (name === '' || !isSandboxId(sandbox)) return []
        const identity = ownerIn(owner)
        return [
          {
            name,
            sandbox,
            orphaned: identity === undefined || !isAlive(identity),
            ours: owner === ownerMark(ownIdentity()),
            lasting: lasting === '1',
          },
        ]
      })
    },
  }
}

const cannotLimit = (said: string): GloveboxError =>
  new GloveboxError(
    'BOUNDARY_FAILED',
    'Cannot narrow the sandbox: docker refused to change the limits of its container',
    {
      operatorDetail: said.trim(),
    },
  )

/** SECURITY: a container outlives a daemon that is killed, and its guest would run on without its guards.
 * test/faults/docker: "a daemon that is killed leaves no command running" */
function endHere(name: string): void {
  for (const pid of pidsNaming(name)) {
    try {
      kill(pid, 'SIGKILL')
    } catch {
      // It has ended, or is not ours.
    }
  }
}

/** The keeper's command line ends with its title, which ends with the container's name. */
function pidsNaming(name: string): readonly number[] {
  const title = Buffer.from(`-${name}\0`)
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return Number.isInteger(pid) && readFileSync(`/proc/${pid}/cmdline`).includes(title)
      } catch {
        return false
      }
    })
}

const ownerMark = ({ pid, startTime, bootId, pidNamespace }: ProcessIdentity): string =>
  `${pid}.${startTime}.${bootId}.${/\d+/.exec(pidNamespace)?.[0] ?? '0'}`

function ownerIn(text: string): ProcessIdentity | undefined {
  const [, pid, startTime = '', bootId = '', namespace] = /^(\d+)\.(\d+)\.([\da-f-]+)\.(\d+)$/.exec(text) ?? []
  if (pid === undefined) return undefined
  return { pid: Number(pid), startTime, bootId, pidNamespace: `pid:[${namespace}]` }
}
