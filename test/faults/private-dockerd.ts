// A Docker daemon of our own, that may be killed. What it leaves behind is cleared away at its end, and if we are killed ourselves,
// by the next one of these: the keepers of its containers name its directory, and outlive it.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive, ownIdentity, type ProcessIdentity } from '../../src/process/identity.ts'

export interface PrivateDockerd {
  /** For DOCKER_HOST. */
  readonly host: string
  docker(...args: readonly string[]): string
  start(): Promise<void>
  /** From the daemon of everybody else. */
  load(images: readonly string[]): void
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** It hangs, and goes on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  remove(): Promise<void>
}

/** Why none can be had here; undefined where it can. */
export function reasonWithout(image: string): string | undefined {
  if (process.getuid?.() !== 0) return 'starting a daemon needs root'
  try {
    execFileSync('sh', ['-c', 'command -v dockerd && command -v docker'], { stdio: 'ignore' })
    execFileSync('docker', ['image', 'inspect', image], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'dockerd, docker or the image is missing'
  }
}

export const prefix = 'glovebox-private-dockerd-'
export const ownerOf = (home: string): string => join(home, 'owner.json')

/** Ends whatever names the directory, and removes it. Its mounts were in a namespace of their own and go with the last process. */
async function clearAway(home: string): Promise<void> {
  const naming = (): readonly number[] =>
    readdirSync('/proc').flatMap((name) => {
      const isProcess = /^[1-9]\d*$/.test(name) && Number(name) !== process.pid
      return isProcess && textIn(`/proc/${name}/cmdline`).includes(`${home}/`) ? [Number(name)] : []
    })
  for (let tries = 0; tries < 50 && naming().length > 0; tries++) {
    for (const pid of naming()) kill(pid)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  rmSync(home, { recursive: true, force: true })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It has ended since it was listed.
    return ''
  }
}

/** Of those who were killed before they could. */
export async function clearAwayAbandoned(): Promise<readonly string[]> {
  const homes = readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))
  const abandoned = homes.filter((name) => {
    const owner = textIn(ownerOf(join(tmpdir(), name)))
    return owner !== '' && !isAlive(JSON.parse(owner) as ProcessIdentity)
  })
  for (const name of abandoned) await clearAway(join(tmpdir(), name))
  return abandoned
}

export interface DockerdOptions {
  /** Containers go on without it, and the next one takes them over. */
  readonly liveRestore?: boolean
}

export async function privateDockerd(
  images: readonly string[],
  { liveRestore = false }: DockerdOptions = {},
): Promise<PrivateDockerd> {
  await clearAwayAbandoned()
  const home = mkdtempSync(join(tmpdir(), prefix))
  writeFileSync(ownerOf(home), JSON.stringify(ownIdentity()))
  const host = `unix://${home}/socket`
  mkdirSync(join(home, 'data'))
  const config = {
    hosts: [host],
    'data-root': join(home, 'data'),
    'exec-root': join(home, 'exec'),
    pidfile: join(home, 'pid'),
    bridge: 'none',
    iptables: false,
    ip6tables: false,
    'ip-forward': false,
    'live-restore': liveRestore,
    runtimes: { runsc: { path: 'runsc', runtimeArgs: ['--platform=ptrace', '--network=none'] } },
  }
  writeFileSync(join(home, 'daemon.json'), JSON.stringify(config))
  let daemon: ChildProcess | undefined
  const docker = (...args: readonly string[]): string =>
    execFileSync('docker', [...args], {
      encoding: 'utf8',
      env: { ...process.env, DOCKER_HOST: host },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const answers = (): boolean => {
    try {
      docker('version')
      return true
    } catch {
      return false
    }
  }
  const start = async (): Promise<void> => {
    // A killed one leaves these behind. The next would refuse to start; or, where that number is in use again or its owner is not yet
    // buried, wait in vain for a containerd that is gone.
    for (const left of ['pid', 'exec/containerd/containerd.pid']) rmSync(join(home, left), { force: true })
    const log = openSync(join(home, 'log'), 'a')
    // What it mounts is its own, and goes with it.
    daemon = spawn(
      'unshare',
      ['-m', '--propagation', 'private', 'dockerd', '--config-file', join(home, 'daemon.json')],
      {
        stdio: ['ignore', log, log],
        detached: true,
      },
    )
    closeSync(log)
    for (const patience = performance.now() + 90_000; !answers();) {
      if (performance.now() > patience)
        throw new Error(`dockerd does not answer: ${readFileSync(join(home, 'log'), 'utf8').slice(-2000)}`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const gone = new Promise((resolve) => daemon?.once('exit', resolve))
    daemon?.kill(signal)
    await gone
  }
  const load = (wanted: readonly string[]): void => {
    execFileSync('sh', ['-c', `docker save ${wanted.join(' ')} | DOCKER_HOST=${host} docker load`], { stdio: 'ignore' })
  }
  await start()
  if (images.length > 0) load(images)
  return {
    host,
    docker,
    start,
    load,
    kill: end,
    signal: (signal) => void daemon?.kill(signal),
    async remove() {
      // One that was killed answers nobody, and what it ran goes on.
      if (answers()) {
        const all = docker('ps', '-aq').split('\n').filter(Boolean)
        if (all.length > 0) docker('rm', '-f', ...all)
        await end('SIGTERM')
      }
      await clearAway(home)
    },
  }
}
