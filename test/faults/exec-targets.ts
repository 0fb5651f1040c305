// On what the execs of a fault test run, and what a server that is gone must not have left there.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerOptions } from '../fixtures/exec-server.ts'

export interface ExecTarget {
  readonly name: string
  readonly options: Pick<ServerOptions, 'flags' | 'settings'>
  /** Within so long an exec goes through all that it can go through. */
  readonly longestMs: number
  /** Of the installation at this place: containers, and what is kept of them. */
  traces(place: string): readonly string[]
  /** Takes away what a test that failed has left there. */
  clear(place: string): void
}

export const runscImage = 'glovebox/sandbox:bullseye'
/** script/busybox-image */
export const busyboxImage = 'glovebox/sandbox:busybox'

const docker = { flags: ['--backend', 'docker'] } as const
/** gVisor as Debian has it does not know what newer coreutils ask of it; hence the older image. */
const runsc = { ...docker, settings: `docker:\n  image: ${runscImage}\n  runtime: runsc\n` }

const inContainers = { traces: containerTraces, clear: clearContainers } as const
const targets: readonly ExecTarget[] = [
  { name: 'bwrap', options: {}, longestMs: 800, traces: () => [], clear: () => {} },
  { name: 'docker', options: docker, longestMs: 4000, ...inContainers },
  { name: 'docker-runsc', options: runsc, longestMs: 8000, ...inContainers },
]

export function execTarget(name: string): ExecTarget {
  const found = targets.find((each) => each.name === name)
  if (found === undefined)
    throw new Error(`no such target: ${name}. There are: ${targets.map((each) => each.name).join(', ')}`)
  return found
}

/** Of this installation alone; another one's are another test's. */
export function containersAt(place: string): readonly string[] {
  const installation = readFileSync(join(place, 'state/docker/installation'), 'utf8').trim()
  const filter = `label=dev.glovebox.installation=${installation}`
  return execFileSync('docker', ['ps', '-a', '-q', '--filter', filter], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)
}

/** Where an exec's output and end are kept while nobody reads them. */
export const spoolsAt = (place: string): string => join(place, 'data/workspace/running')

/** By name. Beside them lies the name of the directory itself. */
export const spoolsIn = (directory: string): readonly string[] =>
  existsSync(directory) ? readdirSync(directory).filter((name) => name !== '.installation') : []

function containerTraces(place: string): readonly string[] {
  return [
    ...containersAt(place).map((id) => `container ${id}`),
    ...spoolsIn(spoolsAt(place)).map((name) => `spool ${name}`),
  ]
}

function clearContainers(place: string): void {
  const left = containersAt(place)
  // It fails where one is just being removed, which is as good.
  if (left.length > 0) spawnSync('docker', ['rm', '-f', ...left], { stdio: 'ignore' })
}

export function dockerHasImage(image: string): boolean {
  try {
    execFileSync('docker', ['image', 'inspect', image], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export function dockerHasRuntime(name: string): boolean {
  try {
    const format = '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}'
    return execFileSync('docker', ['info', '--format', format], { encoding: 'utf8' }).split(' ').includes(name)
  } catch {
    return false
  }
}
