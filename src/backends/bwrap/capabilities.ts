// What bwrap enforces on this host, and by what.
import type { Capabilities, Capability } from '../../contract/capability.ts'
import type { HostFacts } from './facts.ts'

export interface LimitsFacts {
  readonly enforces: readonly ('memory' | 'cpu' | 'pids')[]
  /** `cgroup v1`, `cgroup v2`, `systemd scope`; or why there is none. */
  readonly by: string
}

export function capabilitiesFor(facts: HostFacts, limits: LimitsFacts): Capabilities {
  const through = (what: 'memory' | 'cpu'): Partial<Record<Capability, string>> =>
    limits.enforces.includes(what) ? { [what]: limits.by } : {}
  return {
    'filesystem.isolated': 'mount namespace with an allow-listed root',
    'mount.readonly': 'read-only bind mounts',
    'mount.vault': 'empty files in place of the contents',
    ...(facts.startedByRoot ? { 'mount.layers': 'overlayfs in a private mount namespace' } : {}),
    'files.protected': 'read-only bind mounts over the names, their parents pinned',
    'files.denyRead': 'masks that can be neither read nor listed',
    'network.none': 'network namespace with nothing but loopback',
    'network.full': "the host's network",
    ...through('memory'),
    ...through('cpu'),
    pids: limits.enforces.includes('pids') ? `${limits.by} and RLIMIT_NPROC` : 'RLIMIT_NPROC in the user namespace',
    fileSize: 'RLIMIT_FSIZE',
    tmpSize: 'sized tmpfs',
    'process.isolated': 'pid and ipc namespaces',
    'process.tree': 'pid namespace that dies with its first process',
    'syscalls.filtered': `seccomp filter for ${facts.architecture}`,
    'environment.isolated': 'cleared and set anew',
    'secrets.scoped': 'a boundary of its own for the command, which ends with it',
    timeout: 'SIGKILL to the pid namespace',
    'output.bounded': 'truncated and drained',
  }
}

export const whyNot =
  (limits: LimitsFacts) =>
  (capability: Capability): string => {
    if (capability === 'memory' || capability === 'cpu') return limits.by
    return capability === 'mount.layers'
      ? 'started by an ordinary user, Glovebox lays no layers'
      : 'bubblewrap has no means for it'
  }
