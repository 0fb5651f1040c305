// What the backend must know of docker before it can compile anything. Gathered once; everything after is pure.
import { statSync } from 'node:fs'
import { hostname, release } from 'node:os'
import type { HostPath } from '../../contract/mount.ts'
import type { Answer, DockerCli } from './cli.ts'

export interface DockerFacts {
  readonly cliPath: string
  /** Of the daemon. */
  readonly version: string
  readonly context: string
  /** As it was asked for, and the one that this name meant when it was last looked at. */
  readonly image: string
  readonly imageId: string
  /** Undefined: the daemon's own choice. */
  readonly runtime: string | undefined
  readonly isGvisor: boolean
  readonly holds: { readonly memory: boolean; readonly cpu: boolean; readonly pids: boolean }
  readonly seccomp: boolean
  /** The daemon is on this very host. */
  readonly isHere: boolean
  /** A file has the same number inside as outside. */
  readonly showsInodes: boolean
  /** A read-only mount is read-only in all that is mounted below it as well. */
  readonly readOnlyIsDeep: boolean
  /** The guest, if it is not root. */
  readonly operator: { readonly uid: number; readonly gid: number }
  readonly searchProgram: HostPath
}

export interface Missing {
  readonly reason: string
  readonly fix: string
  readonly version?: string
}

export interface Wanted {
  /** Where the daemon listens, if that is a file of this host. */
  readonly socket: string | undefined
  readonly image: string
  readonly runtime: string | undefined
  readonly searchProgram: HostPath
}

// SECURITY: fixed places, never PATH: a `docker` in a writable directory of PATH would be the boundary.
// test/attacks/docker: "a docker earlier in PATH is not used"
const places = [
  '/usr/local/bin/docker',
  '/usr/bin/docker',
  '/bin/docker',
  '/snap/bin/docker',
  '/run/current-system/sw/bin/docker',
  '/opt/homebrew/bin/docker',
]

export function findDocker(candidates: readonly string[] = places): { readonly path: string } | Missing {
  for (const place of candidates) {
    const file = statSync(place, { throwIfNoEntry: false })
    if (file === undefined) continue
    if (file.uid !== 0 || (file.mode & 0o022) !== 0)
      return { reason: `${place} can be changed by others than root`, fix: `chown root ${place}; chmod go-w ${place}` }
    return { path: place }
  }
  return {
    reason: 'docker is not installed',
    fix: 'Install it: apt-get install docker.io (Debian, Ubuntu), or see docs.docker.com.',
  }
}

interface Info {
  readonly Name?: string
  readonly KernelVersion?: string
  readonly ServerVersion?: string
  readonly OSType?: string
  readonly Runtimes?: Readonly<Record<string, unknown>> | null
  readonly DefaultRuntime?: string
  readonly SecurityOptions?: readonly string[] | null
  readonly MemoryLimit?: boolean
  readonly CpuCfsQuota?: boolean
  readonly PidsLimit?: boolean
  readonly ServerErrors?: readonly string[] | null
  readonly ClientInfo?: { readonly Context?: string }
}

export async function gatherFacts(cli: DockerCli, cliPath: string, wanted: Wanted): Promise<DockerFacts | Missing> {
  const [info, image] = await Promise.all([
    cli.ask(['info', '--format', '{{json .}}'], { unlessAway: true }),
    lookAtImage(cli, wanted.image),
  ])
  const daemon = readInfo(info.stdout)
  if (info.code !== 0 || daemon?.ServerVersion === undefined || daemon.ServerVersion === '')
    return unreachable([...(daemon?.ServerErrors ?? []), info.stderr].join(' ').trim())
  const version = daemon.ServerVersion
  const runtime = wanted.runtime ?? daemon.DefaultRuntime ?? 'runc'
  const security = daemon.SecurityOptions ?? []
  const refusal =
    notForUs(daemon, security) ??
    lacksRuntime(daemon, wanted.runtime) ??
    (image.code === 0 ? undefined : noImage(wanted.image, image.stderr))
  if (refusal !== undefined) return { ...refusal, version }
  const isGvisor = runtime.startsWith('runsc')
  const isHere = daemon.Name === hostname() && daemon.KernelVersion === release()
  return {
    cliPath,
    version,
    context: daemon.ClientInfo?.Context ?? 'default',
    image: wanted.image,
    imageId: image.stdout.trim(),
    runtime: wanted.runtime,
    isGvisor,
    holds: { memory: daemon.MemoryLimit === true, cpu: daemon.CpuCfsQuota === true, pids: daemon.PidsLimit === true },
    seccomp: security.some((each) => each.startsWith('name=seccomp') && !each.includes('profile=unconfined')),
    isHere,
    showsInodes: isHere && !isGvisor,
    readOnlyIsDeep: majorOf(version) >= 25,
    operator: operatorAsGuest(wanted.socket),
    searchProgram: wanted.searchProgram,
  }
}

/** By its name or its id; tells the id. */
export const lookAtImage = (cli: DockerCli, image: string): Promise<Answer> =>
  cli.ask(['image', 'inspect', '--format', '{{.Id}}', '--', image], { unlessAway: true })

/** SECURITY: who has the group of the daemon's socket is root wherever it can reach the socket.
 * test/attacks/docker: "the guest is not in the group of the daemon" */
function operatorAsGuest(socket: string | undefined): DockerFacts['operator'] {
  const [uid, gid] = [process.getuid?.() ?? 1000, process.getgid?.() ?? 1000]
  const daemons = socket === undefined ? undefined : statSync(socket, { throwIfNoEntry: false })?.gid
  return { uid, gid: gid === daemons ? uid : gid }
}

const majorOf = (version: string): number => Number.parseInt(version, 10)

function readInfo(text: string): Info | undefined {
  try {
    return JSON.parse(text) as Info
  } catch {
    return undefined
  }
}

export function unreachable(said: string): Missing {
  const reason =
    said === '' ? 'the Docker daemon does not answer' : `the Docker daemon does not answer: ${firstLine(said)}`
  if (/permission denied/i.test(said))
    return { reason, fix: 'Join the group that owns the socket: usermod -aG docker "$USER", then log in again.' }
  return { reason, fix: 'Start it: systemctl start docker, or dockerd; `docker info` tells more.' }
}

/** Rootless Docker gives what a guest makes to an id that is nobody's, unless the guest is its root; and it never is. */
function notForUs(daemon: Info, security: readonly string[]): Missing | undefined {
  if (daemon.OSType !== undefined && daemon.OSType !== 'linux')
    return { reason: `the Docker daemon runs ${daemon.OSType} containers`, fix: 'Switch it to Linux containers.' }
  if (security.some((each) => each.startsWith('name=rootless') || each.startsWith('name=userns')))
    return {
      reason: 'the Docker daemon maps user ids, so that files made inside would belong to nobody',
      fix: 'Use a daemon without rootless mode and userns-remap, or the backend bwrap.',
    }
  return undefined
}

function lacksRuntime(daemon: Info, runtime: string | undefined): Missing | undefined {
  const known = Object.keys(daemon.Runtimes ?? {})
  if (runtime === undefined || known.includes(runtime)) return undefined
  return {
    reason: `the Docker daemon has no runtime ${runtime}; it has ${known.join(', ')}`,
    fix:
      runtime === 'runsc'
        ? 'Install gVisor and add it to /etc/docker/daemon.json: {"runtimes":{"runsc":{"path":"/usr/bin/runsc","runtimeArgs":["--network=none"]}}}.'
        : 'Add it to "runtimes" in /etc/docker/daemon.json, or name another.',
  }
}

/** Whether it was looked at or to be run. */
export const isOfNoImage = (said: string): boolean => /no such image/i.test(said)

export function noImage(image: string, said: string): Missing {
  if (!isOfNoImage(said))
    return {
      reason: `the image ${image} cannot be looked at: ${firstLine(said)}`,
      fix: `docker image inspect ${image}`,
    }
  return {
    reason: `the image ${image} is not there`,
    fix: 'Make the default one: docker build -t glovebox/sandbox docker, or script/docker-image where nothing can be pulled. Any other is fetched by you, and not by Glovebox.',
  }
}

export const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').trim()
