// On what the execs of a fault test run, and what a server that is gone must not have left there.
import { execFileSync } from 'node:child_process'
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
}

export const runscImage = 'glovebox/sandbox:bullseye'
/** script/busybox-image */
export const busyboxImage = 'glovebox/sandbox:busybox'

const docker = { flags: ['--backend', 'docker'] } as const
/** gVisor as Debian has it does not know what newer coreutils ask of it; hence the older image. */
const runsc = { ...docker, settings: `docker:\n  image: ${runscImage}\n  runtime: runsc\n` }

const targets: readonly ExecTarget[] = [
  { name: 'bwrap', options: {}, longestMs: 800, traces: () => [] },
  { name: 'docker', options: docker, longestMs: 4000, traces: containerTraces },
  { name: 'docker-runsc', options: runsc, longestMs: 8000, traces: containerTraces },
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
export const spoolsAt = (place: string): string => join(place, 'state/docker/lasting')

function containerTraces(place: string): readonly string[] {
  const spools = spoolsAt(place)
  return [
    ...containersAt(place).map((id) => `container ${id}`),
    ...(existsSync(spools) ? readdirSync(spools) : []).map((name) => `spool ${name}`),
  ]
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
