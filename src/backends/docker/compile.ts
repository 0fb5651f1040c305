// From a spec to what docker is told. Pure: the same spec and the same facts give the same words. No value of the guest's
// environment is among them: whoever may list processes or inspect containers could read it there.
import type { NarrowableLimits, Plan, SandboxSpec } from '../../contract/backend.ts'
import type { Mount } from '../../contract/mount.ts'
import { secretsDirectory } from '../../contract/vault.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { accountFor } from '../../policy/enforce.ts'
import { capabilitiesFor, whyNot } from './capabilities.ts'
import type { DockerFacts } from './facts.ts'
import { keeperCommand, privatePlace } from './keeper.ts'
import { mountOperand } from './operands.ts'

export const guestSearchProgram = '/.glovebox/rg'
export const defaultGuest = { uid: 1000, gid: 1000 } as const

export interface Guest {
  readonly uid: number
  readonly gid: number
}

/** What is bound, and where to: mounts, guards over protected names, covers over what may not be read. */
export interface Bound {
  readonly guestPath: string
  readonly source: string
  readonly writable: boolean
}

export interface Layout {
  readonly name: string
  /** Where docker writes its id down. */
  readonly idFile: string
  readonly labels: Readonly<Record<string, string>>
  readonly guest: Guest
  readonly bounds: readonly Bound[]
  readonly title: string
  /** It is for one command that is given files of secrets. */
  readonly takesSecrets?: boolean
  /** Files are searched for and in it, by a program of ours. Default: so. */
  readonly searches?: boolean
}

const mebibyte = 1024 * 1024

export function compilePlan(spec: SandboxSpec, facts: DockerFacts): Plan {
  const account = accountFor({
    backend: 'docker',
    capabilities: capabilitiesFor(facts),
    isolates: true,
    effective: spec.policy,
    demanded: spec.demanded,
    mounts: spec.mounts,
    why: whyNot(facts),
  })
  return {
    backend: 'docker',
    spec,
    argv: [facts.cliPath, ...runArguments(spec, facts, plainLayout(withCatalog(spec), facts)), '…'],
    mounts: mountWords(withCatalog(spec), facts),
    filter: facts.isGvisor
      ? ["gVisor's kernel answers the guest's system calls; the host's kernel sees few of them"]
      : facts.seccomp
        ? ["Docker's default seccomp profile"]
        : [],
    image: { name: facts.image, id: facts.imageId },
    ...account,
  }
}

/** With host paths as sources and no guards: what can be told before the host is touched. */
function plainLayout(spec: SandboxSpec, { operator }: DockerFacts): Layout {
  return {
    name: 'glovebox-…',
    idFile: '…',
    labels: { installation: '…', sandbox: '…', owner: '…' },
    guest: operator.uid === 0 ? defaultGuest : operator,
    bounds: [
      { guestPath: spec.home.guestPath, source: spec.home.hostPath, writable: true },
      ...spec.mounts.map(({ guestPath, hostPath, mode }) => ({ guestPath, source: hostPath, writable: mode === 'rw' })),
    ],
    title: 'glovebox-keeper',
  }
}

/**
 * Docker can remove a container with its end, which comes with the end of its input: also when we are killed. But it may be told
 * of the end before it is told that memory was the reason, and throws away what it hears of a container that it has removed. With runc
 * the keeper lives on and counts itself; gVisor dies as a whole, so its containers stay until they have been asked about.
 */
export const keepsEnded = ({ isGvisor }: Pick<DockerFacts, 'isGvisor'>): boolean => isGvisor

/** Everything but the guest's commands, which the keeper is told. */
export function runArguments(spec: SandboxSpec, facts: DockerFacts, layout: Layout): readonly string[] {
  return [
    'run',
    '--interactive',
    ...(keepsEnded(facts) ? [] : ['--rm']),
    '--sig-proxy=false',
    // An image that is missing is told by the probe, with its fix; it is never fetched on the quiet.
    '--pull=never',
    '--name',
    layout.name,
    '--cidfile',
    layout.idFile,
    ...Object.entries(layout.labels).flatMap(([name, value]) => ['--label', `dev.glovebox.${name}=${value}`]),
    // SECURITY: output would lie on the host's disk in clear. test/attacks/docker: "what a command prints is kept nowhere by Docker"
    '--log-driver=none',
    // The image's own would run beside the guest's command.
    '--no-healthcheck',
    ...(facts.runtime === undefined ? [] : ['--runtime', facts.runtime]),
    ...wallArguments(spec, layout.guest),
    ...limitArguments(spec, facts),
    ...placeArguments(spec, layout.guest),
    ...(layout.takesSecrets === true ? secretArguments(layout.guest) : []),
    ...boundArguments(facts, layout),
    '--entrypoint',
    '/bin/sh',
    '--',
    facts.imageId,
    ...keeperCommand({ canHide: !facts.isGvisor, ownNetwork: spec.policy.network.mode !== 'full' }, layout.title),
  ]
}

function wallArguments(spec: SandboxSpec, { uid, gid }: Guest): readonly string[] {
  return [
    // SECURITY: test/attacks/network: "with mode none nothing is reached, not even the host's loopback"
    `--network=${spec.policy.network.mode === 'full' ? 'host' : 'none'}`,
    '--ipc=private',
    '--hostname=glovebox',
    // SECURITY: test/attacks/kernel: "the guest has no capability"
    '--cap-drop=ALL',
    // SECURITY: a set-id program of the image would give back what was dropped.
    // test/attacks/kernel-identity: "set-id programs of the system give nothing"
    '--security-opt=no-new-privileges',
    // SECURITY: test/attacks/resources: "the root directory cannot be filled"
    '--read-only',
    // SECURITY: never root, not even one without capabilities: much in /proc and /sys asks for the id alone.
    // test/attacks/kernel: "/proc/sys cannot be written"
    `--user=${uid}:${gid}`,
    // Not the sandbox's own, which docker would make, as root, where it is missing.
    '--workdir=/',
  ]
}

/** What the daemon can also set while a container runs. */
export function groupArguments(policy: NarrowableLimits, { holds, isGvisor }: DockerFacts): readonly string[] {
  return [
    // As much with swap as without: none.
    ...(holds.memory ? [`--memory=${policy.memoryMb}m`, `--memory-swap=${policy.memoryMb}m`] : []),
    ...(holds.cpu ? [`--cpus=${policy.cpuCores}`] : []),
    ...(holds.pids && !isGvisor ? [`--pids-limit=${policy.pids}`] : []),
  ]
}

function limitArguments({ policy }: SandboxSpec, facts: DockerFacts): readonly string[] {
  return [
    ...groupArguments(policy, facts),
    `--ulimit=fsize=${policy.fileSizeMb * mebibyte}`,
    '--ulimit=core=0',
    `--shm-size=${policy.shmMb}m`,
  ]
}

function placeArguments({ policy }: SandboxSpec, { uid, gid }: Guest): readonly string[] {
  return [
    ...['/tmp', '/var/tmp'].flatMap((place) => [
      '--tmpfs',
      `${place}:rw,exec,nosuid,nodev,size=${policy.tmpMb}m,mode=1777`,
    ]),
    // For the keeper's own shell.
    '--tmpfs',
    `${privatePlace}:rw,exec,nosuid,nodev,size=16m,mode=0700,uid=${uid},gid=${gid}`,
  ]
}

/** SECURITY: in memory, and not among the places that are tidied for the next command, since there is none.
 * test/attacks/vault: "a secret given as a file is on no disk, and gone with its command" */
const secretArguments = ({ uid, gid }: Guest): readonly string[] => [
  '--tmpfs',
  `${secretsDirectory}:rw,noexec,nosuid,nodev,size=4m,mode=0700,uid=${uid},gid=${gid}`,
]

/** From the outside in, as docker lays them too: what lies below another one must come after it. */
function boundArguments(facts: DockerFacts, { bounds, searches = true }: Layout): readonly string[] {
  const program = { guestPath: guestSearchProgram, source: facts.searchProgram, writable: false }
  return [...bounds, ...(searches ? [program] : [])]
    .toSorted((a, b) => depth(a.guestPath) - depth(b.guestPath))
    .flatMap(({ guestPath, source, writable }) => [
      '--mount',
      mountOperand(['type=bind', `source=${source}`, `target=${guestPath}`, ...(writable ? [] : ['readonly'])]),
    ])
}

const depth = (path: string): number => path.split('/').length

function mountWords(spec: SandboxSpec, facts: DockerFacts): readonly string[] {
  const { policy } = spec
  const writable = spec.mounts.filter(({ mode }) => mode === 'rw')
  const first = writable[0]
  return [
    `the root of ${facts.image}, read-only`,
    `/tmp and /dev/shm, private, ${policy.tmpMb} MiB and ${policy.shmMb} MiB`,
    `${spec.home.guestPath}, the agent's home, read-write`,
    ...spec.mounts
      .toSorted((a, b) => depth(a.guestPath) - depth(b.guestPath))
      .map(({ guestPath, hostPath, mode }: Mount) => `${guestPath} from ${hostPath}, ${mode}`),
    ...writable.map(({ guestPath }) => `protected below ${guestPath}: ${policy.protect.join(' ')}`),
    ...policy.denyRead.map((path) => `${path}, hidden`),
    ...(facts.operator.uid === 0 && first !== undefined ? [`the guest is the owner of ${first.guestPath}`] : []),
  ]
}
