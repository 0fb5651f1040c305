// Containers by name and by label. What we made carries the mark of this installation, and nothing without it is ever touched.
import { setTimeout as delay } from 'node:timers/promises'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import type { Asking, DockerCli } from './cli.ts'
import { codeOfKilled, hasEventOfMemory, inSeconds, isToldOfMemory, type MayBeOfMemory } from './late-memory.ts'
import { daemonAway } from './watched.ts'

export interface Listed {
  readonly name: string
  readonly sandbox: SandboxId
  /** Nobody is left who could use it. */
  readonly orphaned: boolean
  /** This process made it. */
  readonly ours: boolean
  /** It was made to go on without its maker: the name of where what it says is kept. */
  readonly lasting: string | undefined
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
  readonly mayBeOfMemory: MayBeOfMemory
  /** Somebody still wants to know. */
  readonly isWaitedFor: () => boolean
}

export interface Containers {
  labels(sandbox: SandboxId): Readonly<Record<string, string>>
  /** Did it run out of memory? Told by the daemon, which remembers its last events when the container is gone. */
  ranOutOfMemory(name: string, end: UnexpectedEnd): Promise<boolean>
  /** Holds what runs in them to less. Rejects if the daemon refuses. */
  limit(names: readonly string[], flags: readonly string[]): Promise<void>
  /** True where the daemon has said that none of them is there any more. */
  remove(...names: readonly string[]): Promise<boolean>
  /** All of this sandbox, whoever made them. Rejects where the daemon has not said that they are gone: what may still run is not. */
  removeOf(sandbox: SandboxId): Promise<void>
  /** The same of one, for somebody who goes on trying: false at once while the daemon is known not to answer. */
  tryToRemove(name: string): Promise<boolean>
  /** Undefined where it does not run. */
  find(name: string): Promise<Whereabouts | undefined>
  /**
   * Settles when the daemon says that it runs, or when it is gone. From a moment before that the daemon watches its memory, and has nothing to
   * tell of what ran out of it earlier.
   */
  untilWatched(name: string, gone: Promise<void>): Promise<void>
  /** Of this installation, whoever made them. Rejects where the daemon does not tell: nothing may be taken for gone then. */
  list(): Promise<readonly Listed[]>
  /** The same of those that go on without their maker and are kept under this name, whatever installation made them. */
  listLasting(name: string): Promise<readonly Listed[]>
}

const lookAgainMs = 50

interface Removal {
  readonly deadlineMs: number
}

export interface ContainersOptions {
  readonly installation: string
  /** Of a busy daemon, for each. */
  readonly removalMs?: number
}

export function openContainers(cli: DockerCli, { installation, removalMs = 15_000 }: ContainersOptions): Containers {
  const askToRemove = async (names: readonly string[], options: Asking & Removal): Promise<boolean> => {
    const until = performance.now() + options.deadlineMs
    for (;;) {
      const { code, stderr } = await cli.ask(['rm', '--force', '--volumes', '--', ...names], options)
      if (code === 0 || (code !== null && isOfNone(stderr))) return true
      // Its own end, a warden or another server was quicker: the daemon does not wait for them, and so we do.
      if (code === null || !isBeingRemoved(stderr) || performance.now() > until) return false
      await delay(lookAgainMs)
    }
  }
  const listWith = async (filter: string): Promise<readonly Listed[]> => {
    const { code, stdout, stderr } = await cli.ask([
      'ps',
      '--all',
      '--no-trunc',
      '--filter',
      filter,
      '--format',
      listedFormat,
    ])
    if (code !== 0) throw cannotList(stderr)
    return stdout.split('\n').flatMap(listedIn)
  }
  const remove = async (...names: readonly string[]): Promise<boolean> =>
    names.length === 0 || askToRemove(names, { deadlineMs: removalMs * names.length })
  const list = (): Promise<readonly Listed[]> => listWith(`label=dev.glovebox.installation=${installation}`)
  const find: Containers['find'] = async (name) => {
    const words = ['container', 'inspect', '--format', '{{.State.Pid}} {{.Id}}', '--', name]
    const { stdout } = await cli.ask(words, { unlessAway: true })
    const [, pid, id] = /^([1-9]\d*) ([0-9a-f]{64})$/.exec(stdout.trim()) ?? []
    return pid === undefined || id === undefined ? undefined : { pid: Number(pid), id }
  }
  return {
    labels: (sandbox) => ({ installation, sandbox, owner: ownerMark(ownIdentity()) }),
    async ranOutOfMemory(name, { startedMs, code, ...whether }) {
      const isTold = (): Promise<boolean> => hasEventOfMemory(cli, name, inSeconds(startedMs - 1000))
      return code === codeOfKilled ? isToldOfMemory(isTold, whether) : isTold()
    },
    async limit(names, flags) {
      if (names.length === 0 || flags.length === 0) return
      const { code, stderr, isAway } = await cli.ask(['update', ...flags, '--', ...names], { unlessAway: true })
      if (isAway === true) throw daemonAway()
      if (code !== 0) throw cannotLimit(stderr)
    },
    remove,
    async removeOf(sandbox) {
      const left = (await list()).filter((each) => each.sandbox === sandbox)
      if (!(await remove(...left.map(({ name }) => name)))) throw cannotRemove()
    },
    tryToRemove: (name) => askToRemove([name], { deadlineMs: removalMs, unlessAway: true }),
    find,
    async untilWatched(name, gone) {
      let isGone = false
      void gone.then(() => (isGone = true))
      while (!isGone && (await find(name)) === undefined) await Promise.race([gone, delay(lookAgainMs)])
    },
    // SECURITY: test/attacks/docker: "a container of another installation is neither listed nor removed"
    list,
    listLasting: (name) => listWith(`label=dev.glovebox.lasting=${name}`),
  }
}

const listedFormat = [
  '{{.Names}}',
  ...['sandbox', 'owner', 'lasting'].map((name) => `{{.Label "dev.glovebox.${name}"}}`),
].join('\t')

function listedIn(line: string): readonly Listed[] {
  const [name = '', sandbox = '', owner = '', lasting = ''] = line.split('\t')
  if (name === '' || !isSandboxId(sandbox)) return []
  const identity = ownerIn(owner)
  return [
    {
      name,
      sandbox,
      orphaned: identity === undefined || !isAlive(identity),
      ours: owner === ownerMark(ownIdentity()),
      lasting: lasting === '' ? undefined : lasting,
    },
  ]
}

/** Some versions of docker complain of what is not there. */
const isOfNone = (said: string): boolean => isAllOf(said, /no such container/i)

const isBeingRemoved = (said: string): boolean => isAllOf(said, /no such container|removal .* already in progress/i)

function isAllOf(said: string, words: RegExp): boolean {
  const lines = said.split('\n').filter((line) => line.trim() !== '')
  return lines.length > 0 && lines.every((line) => words.test(line))
}

const cannotLimit = (said: string): GloveboxError =>
  new GloveboxError(
    'BOUNDARY_FAILED',
    'Cannot narrow the sandbox: docker refused to change the limits of its container',
    {
      operatorDetail: said.trim(),
    },
  )

const cannotRemove = (): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot end the sandbox: the Docker daemon has not removed its container', {
    hint: '`docker info` tells whether it answers. Try again.',
  })

const cannotList = (said: string): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot list the containers: the Docker daemon does not tell them', {
    hint: '`docker info` tells more.',
    operatorDetail: said.trim(),
  })

const ownerMark = ({ pid, startTime, bootId, pidNamespace }: ProcessIdentity): string =>
  `${pid}.${startTime}.${bootId}.${/\d+/.exec(pidNamespace)?.[0] ?? '0'}`

function ownerIn(text: string): ProcessIdentity | undefined {
  const [, pid, startTime = '', bootId = '', namespace] = /^(\d+)\.(\d+)\.([\da-f-]+)\.(\d+)$/.exec(text) ?? []
  if (pid === undefined) return undefined
  return { pid: Number(pid), startTime, bootId, pidNamespace: `pid:[${namespace}]` }
}
