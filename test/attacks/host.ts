// The operator of the attack suite, and the guest that attacks it. A host is a process of its own that uses the built
// package through its public door, started as root or as an ordinary user; so every attack goes through what a user has.
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Denial } from '../../src/contract/denial.ts'
import type { Ended } from '../../src/contract/exec.ts'
import type { OperatorPolicy, PolicyValues } from '../../src/contract/policy.ts'
import type { Description, Resources } from '../../src/contract/sandbox.ts'
import type { SecretUse, VaultSource } from '../../src/contract/vault.ts'
import { otherUser } from '../fixtures/package-copy.ts'
import { attackedPackage } from './attacked-package.ts'
import { startHostProcess, type HostProcess } from './host-conversation.ts'
import { probeFile } from './probe-file.ts'

export { HostError } from './host-conversation.ts'
export { probeFile } from './probe-file.ts'
export { openControlGround, undefended, type ControlGround } from './undefended.ts'

export type Starter = 'root' | 'user'

/** Whom the suite attacks, as GLOVEBOX_ATTACK_BACKEND names it. Tests that name a backend themselves keep to it. */
const targets = {
  bwrap: { backend: 'bwrap' },
  docker: { backend: 'docker' },
  // gVisor's release of 2022, which Debian has, answers `ls` of newer coreutils with EINVAL, hence the older image.
  'docker-runsc': { backend: 'docker', docker: { image: 'glovebox/sandbox:bullseye', runtime: 'runsc' } },
} satisfies Readonly<Record<string, Target>>
export const target = targetNamed(process.env['GLOVEBOX_ATTACK_BACKEND'] ?? 'bwrap')
export const attackedBackend = target.backend
export const isGvisor = target.docker?.runtime === 'runsc'

function targetNamed(name: string): Target {
  if (Object.hasOwn(targets, name)) return targets[name as keyof typeof targets]
  throw new Error(`GLOVEBOX_ATTACK_BACKEND=${name} is none of ${Object.keys(targets).join(', ')}`)
}

/** Both when the tests run as root, who alone can become somebody else. A container never runs as root, nor over root's files. */
export const starters: readonly Starter[] =
  process.getuid?.() === 0 && attackedBackend !== 'docker' ? ['root', 'user'] : ['user']

/** An ordinary user who may speak to the daemon. */
const daemonGroup = attackedBackend === 'docker' ? statSync('/var/run/docker.sock').gid : undefined

export interface MountOption {
  readonly guestPath: string
  readonly hostPath: string
  readonly mode?: 'rw' | 'ro' | 'vault'
  readonly over?: { readonly lower: readonly string[]; readonly work: string }
}

export interface SandboxOptions {
  /** Default: a fresh directory of the starter at /workspace. */
  readonly mounts?: readonly MountOption[]
  readonly policy?: PolicyValues
  readonly settings?: OperatorPolicy
  readonly env?: Readonly<Record<string, string>>
  readonly vaults?: Readonly<Record<string, VaultSource>>
  readonly cwd?: string
  readonly backend?: string
  readonly docker?: { readonly image?: string; readonly runtime?: string }
}

type Target = SandboxOptions & { readonly backend: 'bwrap' | 'docker' }

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  readonly stdin?: string
  readonly secrets?: readonly SecretUse[]
}

export interface RunResult {
  readonly ended: Ended
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  readonly stdoutTotalBytes: number
  readonly denials: readonly Denial[]
  readonly durationMs: number
}

export type ActionResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }

export interface Guest {
  readonly id: string
  /** The host directory behind /workspace; empty if nothing is mounted there. */
  readonly workspace: string
  readonly description: Description
  run(command: string | readonly string[], options?: RunOptions): Promise<RunResult>
  execute(action: string, input: unknown): Promise<ActionResult>
  /** A persistent shell: gives each command's outputs. */
  openShell(): Promise<(command: string) => Promise<Pick<RunResult, 'stdout' | 'stderr' | 'exitCode'>>>
  /** What a terminal showed for a line that was typed. */
  type(line: string): Promise<string>
  /** Answers with how it describes itself afterwards. */
  provision(resources: Resources): Promise<Description>
  /** Runs a file of test/attacks/probes inside; C is compiled once on the host. */
  probe(source: string, args?: readonly string[], options?: RunOptions): Promise<RunResult>
  kill(): Promise<void>
}

export interface AttackHost {
  readonly starter: Starter
  /** The starter's numeric id. */
  readonly uid: number
  /** Its group, which may speak to the daemon where containers are attacked. */
  readonly gid: number
  /** Of the host process. */
  readonly pid: number
  /** The copy of the package that it runs. */
  readonly packageDirectory: string
  /** The host's own state directory. */
  readonly stateDirectory: string
  /** A directory of the starter's own, outside every mount. */
  readonly directory: string
  /** A new directory of the starter's, below `directory`. */
  makeDirectory(name: string): string
  /** Hands a file or directory that the test made to the starter. */
  give(path: string): void
  sandbox(options?: SandboxOptions): Promise<Guest>
  /** Makes the host process open a file without close-on-exec, and gives the descriptor. */
  leak(path: string): Promise<number>
  /** An operation of host-process.mjs. */
  readonly ask: HostProcess['ask']
  close(): Promise<void>
}

/** The guest's own id, as it sees itself. In a container it is the starter's. */
export const guestIdIn = (host: AttackHost): number => (attackedBackend === 'docker' ? host.uid : 1000)

/** A container with the runtime that is attacked, also where the suite attacks bwrap. */
export const container: SandboxOptions = attackedBackend === 'docker' ? target : targets.docker

/** gVisor refuses to open the network at all; a control that needs an open one is run on bwrap then. */
export const whereNetworkOpens: SandboxOptions = isGvisor ? { backend: 'bwrap' } : {}

export interface HostOptions {
  /** Laid over the small environment that the host process begins with. */
  readonly env?: Readonly<Record<string, string>>
  /** Its working directory; default: its copy of the package. */
  readonly cwd?: string
  /** The test's own descriptors that the host process inherits, from 3 on. */
  readonly inheritDescriptors?: readonly number[]
  /** The group of an ordinary starter, if it is to be another than its own. */
  readonly group?: number
  /** The name of a directory below the ground in whose place the host process sees another one than everybody else. Needs root. */
  readonly seesElsewhere?: string
  /** A file that the host process finds in the place of another. Needs root. */
  readonly findsInPlace?: { readonly shown: string; readonly at: string }
}

export async function openHost(starter: Starter, options: HostOptions = {}): Promise<AttackHost> {
  const top = mkdtempSync(join(tmpdir(), `glovebox-attacks-${starter}-`))
  chmodSync(top, 0o755)
  const uid = starter === 'root' || process.getuid?.() !== 0 ? (process.getuid?.() ?? 0) : otherUser
  const give = (path: string): void => chownSync(path, uid, uid === otherUser ? otherUser : (process.getgid?.() ?? 0))
  const own = (name: string, mode: number): string => {
    const path = join(top, name)
    mkdirSync(path, { mode })
    give(path)
    return path
  }
  const gid = options.group ?? daemonGroup ?? uid
  const packageDirectory = attackedPackage()
  const directory = own('ground', 0o755)
  const stateDirectory = own('state', 0o700)
  const { seesElsewhere } = options
  const shown =
    seesElsewhere === undefined
      ? options.findsInPlace
      : { at: own(join('ground', seesElsewhere), 0o755), shown: own(join('ground', `${seesElsewhere}-shown`), 0o755) }
  const host = startHostProcess({
    script: join(packageDirectory, 'host-process.mjs'),
    cwd: options.cwd ?? packageDirectory,
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: own('home', 0o700),
      GLOVEBOX_STATE_DIR: stateDirectory,
      TMPDIR: own('tmp', 0o700),
      ...options.env,
    },
    ...(uid === process.getuid?.() ? {} : { id: uid, group: gid }),
    inheritDescriptors: options.inheritDescriptors ?? [],
    own: shown,
  })
  let made = 0
  const makeDirectory = (name: string): string => own(join('ground', name), 0o755)
  return {
    starter,
    uid,
    gid,
    pid: host.pid,
    packageDirectory,
    stateDirectory,
    directory,
    makeDirectory,
    give,
    async sandbox(wanted = {}) {
      const mounts = wanted.mounts ?? [{ guestPath: '/workspace', hostPath: makeDirectory(`workspace-${++made}`) }]
      const workspace = mounts.find((mount) => mount.guestPath === '/workspace')?.hostPath ?? ''
      const attacked = wanted.backend === undefined ? target : {}
      const created = await host.ask<Created>('create', { options: { ...attacked, ...wanted, mounts } })
      return liveGuest(host, created, { workspace, give })
    },
    leak: (path) => host.ask('leak', { path }),
    ask: host.ask,
    async close() {
      await host.end()
      rmSync(top, { recursive: true, force: true })
    },
  }
}

export interface Created {
  readonly id: string
  readonly description: Description
}

export function liveGuest(
  host: Pick<HostProcess, 'ask'>,
  { id, description }: Created,
  { workspace, give }: { readonly workspace: string; give(path: string): void },
): Guest {
  const run = (command: string | readonly string[], options: RunOptions = {}): Promise<RunResult> =>
    host.ask('run', { sandbox: id, command, options })
  return {
    id,
    workspace,
    description,
    run,
    execute: (action, input) => host.ask('execute', { sandbox: id, action, input }),
    async openShell() {
      const shell = await host.ask('openShell', { sandbox: id })
      return (command) => host.ask('shellExec', { shell, command })
    },
    type: (line) => host.ask('type', { sandbox: id, line }),
    provision: (resources) => host.ask('provision', { sandbox: id, resources }),
    async probe(source, args = [], options = {}) {
      const program = await probeFile(source)
      const name = `probe-${basename(program)}`
      const copy = join(workspace, name)
      copyFileSync(program, copy)
      chmodSync(copy, 0o755)
      give(copy)
      return run([`/workspace/${name}`, ...args], options)
    },
    kill: () => host.ask('kill', { sandbox: id }),
  }
}
