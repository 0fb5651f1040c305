// What a container enforces, and by what. gVisor answers system calls itself, so it has more walls and fewer meters.
import type { Capabilities, Capability } from '../../contract/capability.ts'
import type { DockerFacts } from './facts.ts'

type Holding = Pick<DockerFacts, 'isGvisor' | 'holds' | 'seccomp'>

export function capabilitiesFor({ isGvisor, holds, seccomp }: Holding): Capabilities {
  return {
    'filesystem.isolated': "the image's own root, read-only, and the mounts",
    'mount.readonly': 'read-only bind mounts',
    'mount.vault': 'empty files in place of the contents',
    'files.protected': 'read-only bind mounts over the names, their parents pinned',
    'files.denyRead': 'covers that can be neither read nor listed',
    'network.none': 'network namespace with nothing but loopback',
    ...(isGvisor ? {} : { 'network.full': "the host's network" }),
    ...(holds.memory ? { memory: "the container's cgroup" } : {}),
    ...(holds.cpu ? { cpu: "the container's cgroup" } : {}),
    ...(holds.pids && !isGvisor ? { pids: "the container's cgroup" } : {}),
    fileSize: 'RLIMIT_FSIZE',
    tmpSize: 'sized tmpfs',
    'process.isolated': isGvisor ? "gVisor's own kernel" : 'pid and ipc namespaces',
    'process.tree': 'a container runs one command at a time, and its first process ends what is left',
    ...(seccomp && !isGvisor ? { 'syscalls.filtered': "Docker's default seccomp profile" } : {}),
    'environment.isolated': 'cleared and set anew',
    'secrets.scoped': 'a container of its own for the command, which ends with it',
    timeout: 'SIGKILL to the container',
    'output.bounded': 'truncated and drained',
  }
}

export const whyNot =
  ({ isGvisor }: Holding) =>
  (capability: Capability): string => {
    if (capability === 'network.allowlist') return 'there is no proxy yet that could hold it'
    if (capability === 'mount.layers') return 'Docker lays no layers over a mount'
    if (!isGvisor) return `the Docker daemon does not offer ${capability} on this host`
    if (capability === 'pids') return "gVisor's own threads count against the host's limit, so it cannot be exact"
    if (capability === 'syscalls.filtered')
      return "gVisor answers system calls itself and passes none of the guest's on; it filters none either"
    return `gVisor has no means for ${capability}`
  }
