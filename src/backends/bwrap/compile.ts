// From a spec to what bwrap is told. Pure: the same spec and the same facts about the host give the same words.
// Order matters and is part of the boundary: system directories, devices, private tmpfs, mounts from the outside in,
// with guards over protected names among them, then masks over what may not be read, and the root read-only at the very end.
import type { Plan, SandboxSpec } from '../../contract/backend.ts'
import type { Mount } from '../../contract/mount.ts'
import { secretsDirectory } from '../../contract/vault.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { accountFor } from '../../policy/enforce.ts'
import { capabilitiesFor, whyNot, type LimitsFacts } from './capabilities.ts'
import type { Guard, Mask } from '../../guards/rule.ts'
import type { HostFacts } from './facts.ts'
import { descriptors, gateCommand, nameAtGate } from './gate.ts'
import type { CompiledFilter } from './seccomp/filter.ts'
import { bindSystem } from './system.ts'

export const guestSearchProgram = '/.glovebox/rg'
export const guestId = 1000

/** Where bwrap finds what lies behind a mount. */
export type Source = { readonly path: string } | { readonly descriptor: number }

export interface Layout {
  readonly home: Source
  readonly mounts: readonly { readonly mount: Mount; readonly source: Source }[]
  readonly searchProgram: Source
  readonly guards: readonly Guard[]
  readonly masks: readonly Mask[]
}

const mebibyte = 1024 * 1024

export function compilePlan(spec: SandboxSpec, facts: HostFacts, limits: LimitsFacts, filter: CompiledFilter): Plan {
  const account = accountFor({
    backend: 'bwrap',
    capabilities: capabilitiesFor(facts, limits),
    isolates: true,
    effective: spec.policy,
    demanded: spec.demanded,
    mounts: spec.mounts,
    why: whyNot(limits),
  })
  const shown = withCatalog(spec)
  const layout = plainLayout(shown, facts)
  return {
    backend: 'bwrap',
    spec,
    argv: [
      facts.bwrapPath,
      ...boundaryArguments(spec, facts, layout),
      ...environmentArguments(Object.fromEntries(Object.keys(spec.env).map((name) => [name, '…']))),
      '--chdir',
      spec.cwd,
      '--',
      ...gateCommand({ ...gateLimits(spec, facts), names: Object.keys(spec.env) }),
      '…',
    ],
    mounts: mountWords(shown),
    filter: filter.words,
    ...account,
  }
}

/** The layout with host paths as sources and no guards: what can be told before the host is touched. */
function plainLayout(spec: SandboxSpec, facts: HostFacts): Layout {
  return {
    home: { path: spec.home.hostPath },
    mounts: spec.mounts.map((mount) => ({ mount, source: { path: mount.hostPath } })),
    searchProgram: { path: facts.searchProgram },
    guards: [],
    masks: [],
  }
}

export const gateLimits = (spec: SandboxSpec, facts: HostFacts): { processes: number; fileBlocks: number } => ({
  processes: Math.min(spec.policy.pids, facts.hardProcesses),
  fileBlocks: Math.min(spec.policy.fileSizeMb * 2048, facts.hardFileBlocks),
})

/** Everything but environment, working directory and command: the same for every exec of a sandbox. */
export function boundaryArguments(spec: SandboxSpec, facts: HostFacts, layout: Layout): readonly string[] {
  return [
    ...namespaceArguments(spec),
    '--seccomp',
    String(descriptors.filter),
    '--json-status-fd',
    String(descriptors.status),
    ...systemArguments(spec, facts),
    ...deviceArguments(spec),
    ...bind('rw', layout.home, spec.home.guestPath),
    ...bind('ro', layout.searchProgram, guestSearchProgram),
    ...mountArguments(layout),
    ...layout.masks.flatMap(maskArguments),
    ...seal,
  ]
}

// SECURITY: the root is a tmpfs of half the memory's size. test/attacks/resources: "the root directory cannot be filled"
const seal = ['--remount-ro', '/'] as const

/** The same with files of secrets, which bwrap reads from descriptors and keeps in the root's own memory: no disk has them.
 * SECURITY: test/attacks/vault: "a secret given as a file is on no disk, and gone with its command" */
export function withSecretFiles(words: readonly string[], names: readonly string[], first: number): readonly string[] {
  const laid = names.flatMap((name, index) => [
    '--perms',
    '0400',
    '--file',
    String(first + index),
    `${secretsDirectory}/${name}`,
  ])
  return [...words.slice(0, -seal.length), ...laid, ...seal]
}

function namespaceArguments(spec: SandboxSpec): readonly string[] {
  return [
    // SECURITY: named, since as root bwrap may leave it out. test/attacks/kernel: "the guest has no capability"
    '--unshare-user',
    // SECURITY: test/attacks/processes: "a process of the host is neither seen nor signalled"
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup',
    // SECURITY: test/attacks/network: "with mode none nothing is reached, not even the host's loopback"
    ...(spec.policy.network.mode === 'full' ? [] : ['--unshare-net']),
    '--hostname',
    'glovebox',
    // SECURITY: with the pid namespace, daemons die with the command. test/attacks/processes: "a daemon does not outlive its exec"
    '--die-with-parent',
    // SECURITY: TIOCSTI. test/attacks/kernel: "the terminal of the host cannot be typed into"
    '--new-session',
    // SECURITY: test/attacks/kernel: "a user namespace cannot be made inside"
    '--disable-userns',
    // The gate is the first process; see gate.ts.
    '--as-pid-1',
    '--cap-drop',
    'ALL',
    '--uid',
    String(guestId),
    '--gid',
    String(guestId),
    '--clearenv',
  ]
}

function systemArguments(spec: SandboxSpec, facts: HostFacts): readonly string[] {
  const resolver = spec.policy.network.mode === 'full' ? facts.resolverFile : undefined
  return [
    ...bindSystem(facts.system),
    ...(resolver === undefined ? [] : ['--ro-bind', resolver, resolver]),
    '--proc',
    '/proc',
    // SECURITY: obeys the kernel's uid, not capabilities. test/attacks/kernel: "/proc/sys cannot be written"
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    // SECURITY: bwrap's first process is of the guest's id; written into, it forgets that it dies with its parent, and the
    // guest outlives the host. test/attacks/processes: "the first process cannot be made to outlive the host"
    ...['/proc/1/mem', '/proc/1/task/1/mem'].flatMap((memory) => ['--ro-bind', '/dev/null', memory]),
  ]
}

function deviceArguments(spec: SandboxSpec): readonly string[] {
  return [
    '--dev',
    '/dev',
    '--perms',
    '1777',
    '--size',
    String(spec.policy.shmMb * mebibyte),
    '--tmpfs',
    '/dev/shm',
    // A place where queues that a command left can be seen; the kernel keeps them without it as well.
    '--mqueue',
    '/dev/mqueue',
    // SECURITY: /dev itself is a tmpfs of half the memory's size. test/attacks/resources: "/dev cannot be filled"
    '--remount-ro',
    '/dev',
    '--perms',
    '1777',
    '--size',
    String(spec.policy.tmpMb * mebibyte),
    '--tmpfs',
    '/tmp',
    '--symlink',
    '../tmp',
    '/var/tmp',
  ]
}

/** Mounts and guards from the outside in: what lies below another one must come after it, or it would be covered. */
function mountArguments(layout: Layout): readonly string[] {
  const mounts = layout.mounts.map(({ mount: { guestPath, mode }, source }) => ({ guestPath, mode, source }))
  const guards = layout.guards.map(({ guestPath, rule, source }) => ({
    guestPath,
    mode: rule,
    source: { path: source },
  }))
  return [...mounts, ...guards]
    .toSorted((a, b) => depth(a.guestPath) - depth(b.guestPath))
    .flatMap(({ guestPath, mode, source }) => bind(mode === 'rw' || mode === 'pin' ? 'rw' : 'ro', source, guestPath))
}

const depth = (path: string): number => path.split('/').length

function bind(mode: 'rw' | 'ro', source: Source, guestPath: string): readonly string[] {
  const flag = mode === 'rw' ? '--bind' : '--ro-bind'
  return 'path' in source ? [flag, source.path, guestPath] : [`${flag}-fd`, String(source.descriptor), guestPath]
}

/** SECURITY: a mask that could be listed or written would tell, or keep, something.
 * test/attacks/files: "a masked directory is neither listable nor writable" */
function maskArguments(mask: Mask): readonly string[] {
  if (mask.coverFile !== undefined) return ['--ro-bind', mask.coverFile, mask.guestPath]
  return ['--perms', '0000', '--size', '4096', '--tmpfs', mask.guestPath, '--remount-ro', mask.guestPath]
}

export const environmentArguments = (env: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) => ['--setenv', nameAtGate(name), value])

const layerWords = ({ over }: Mount): string => (over === undefined ? '' : `, over ${over.lower.join(', ')}`)

function mountWords(spec: SandboxSpec): readonly string[] {
  const { policy } = spec
  return [
    'system directories, read-only',
    `/tmp and /dev/shm, private, ${policy.tmpMb} MiB and ${policy.shmMb} MiB`,
    `${spec.home.guestPath}, the agent's home, read-write`,
    ...spec.mounts
      .toSorted((a, b) => depth(a.guestPath) - depth(b.guestPath))
      .map((mount) => `${mount.guestPath} from ${mount.hostPath}, ${mount.mode}${layerWords(mount)}`),
    ...spec.mounts
      .filter((mount) => mount.mode === 'rw')
      .map((mount) => `protected below ${mount.guestPath}: ${policy.protect.join(' ')}`),
    ...policy.denyRead.map((path) => `${path}, hidden`),
  ]
}
