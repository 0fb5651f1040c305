// What each backend can hold, wherever it runs: what depends on the host is told as a condition, not as a fact of the
// machine on which the table was made.
import { table } from './markdown.mjs'

const subjects = {
  'filesystem.isolated': 'files outside the mounts',
  'mount.readonly': 'read-only mounts',
  'mount.vault': 'vaults',
  'mount.layers': 'layers under a mount (forks)',
  'files.protected': 'protected names (`.git/hooks` …)',
  'files.denyRead': 'hidden paths',
  'network.none': 'network: none',
  'network.allowlist': 'network: allow-list',
  'network.full': 'network: full',
  memory: 'memory',
  cpu: 'CPU',
  pids: 'number of processes',
  fileSize: 'size of a file',
  tmpSize: 'size of `/tmp` and `/dev/shm`',
  'process.isolated': 'processes of the host',
  'process.tree': 'nothing outlives its command',
  'syscalls.filtered': 'system calls',
  'environment.isolated': 'environment',
  'secrets.scoped': 'secrets for one command',
  timeout: 'time',
  'output.bounded': 'output',
}

const groups = 'where the host offers cgroups'

const container = (docker, isGvisor) => ({
  ...docker({ isGvisor, holds: { memory: true, cpu: true, pids: true }, seccomp: true }),
  'mount.layers': 'refused',
  ...(isGvisor ? { 'network.full': 'refused' } : {}),
})

/** For the first page: what belongs together, in one word a backend. */
const together = {
  files: ['filesystem.isolated', 'mount.readonly', 'mount.vault', 'files.protected', 'files.denyRead'],
  network: ['network.none'],
  'memory, CPU, processes': ['memory', 'cpu', 'pids'],
  'the host’s processes, and leftovers': ['process.isolated', 'process.tree'],
  'system calls': ['syscalls.filtered'],
  'environment and secrets': ['environment.isolated', 'secrets.scoped'],
  'time and output': ['timeout', 'output.bounded'],
}

function heldOf(backend, names) {
  const open = names.filter((name) => backend[name] === undefined)
  if (open.length === 0) return 'held'
  return open.length === names.length ? '**no**' : `held, but not: ${open.map((name) => subjects[name]).join(', ')}`
}

export function isolationSummary(sources) {
  const backends = backendsOf(sources)
  const rows = Object.entries(together).map(([subject, names]) => [
    subject,
    ...Object.values(backends).map((backend) => heldOf(backend, names)),
  ])
  return table(['what', ...Object.keys(backends).map((name) => `\`${name}\``)], rows)
}

function backendsOf({ bwrap, docker, local }) {
  return {
    bwrap: {
      ...bwrap({ architecture: 'x64' }, { enforces: ['memory', 'cpu', 'pids'], by: 'cgroup v1, v2 or systemd scope' }),
      memory: `cgroup v1, v2 or systemd scope, ${groups}`,
      cpu: `cgroup v1, v2 or systemd scope, ${groups}`,
      pids: `RLIMIT_NPROC, and a cgroup ${groups}`,
      'syscalls.filtered': 'seccomp filter for x64 and arm64',
      'mount.layers': 'overlayfs in a private mount namespace, when root starts it; else refused',
    },
    docker: container(docker, false),
    'docker, runsc': container(docker, true),
    local: { ...local({ processTable: true }), 'mount.layers': 'refused' },
  }
}

export const isolationPage = (sources) => `# What is isolated, and by what

Nothing falls back to something weaker: a policy that a backend cannot enforce is refused. What depends on the host is told by
\`glovebox doctor\`, and of a sandbox by \`describe()\`.

${isolationTable(sources)}
`

function isolationTable(sources) {
  const { capabilityNames } = sources
  const backends = backendsOf(sources)
  const missing = capabilityNames.filter((name) => subjects[name] === undefined)
  if (missing.length > 0) throw new Error(`script/generate/isolation.mjs has no words for ${missing.join(', ')}`)
  // What no backend has can only be asked for, never be a default, so it is always refused.
  const lacking = (name) =>
    Object.values(backends).some((each) => each[name] !== undefined) ? '**not enforced**' : 'refused'
  const rows = capabilityNames.map((name) => [
    subjects[name],
    ...Object.values(backends).map((backend) => backend[name] ?? lacking(name)),
  ])
  return table(['what', ...Object.keys(backends).map((name) => `\`${name}\``)], rows)
}
