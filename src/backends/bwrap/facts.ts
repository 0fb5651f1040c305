// What the backend must know of the host before it can compile anything. Gathered once; everything after is pure.
import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import type { Spawner } from '../../process/spawn.ts'
import { findSystem, isInSystem, type SystemEntry } from './system.ts'

export interface HostFacts {
  readonly bwrapPath: string
  readonly version: string
  /** `--bind-fd`: a mount by descriptor, so that its source cannot be swapped for a link. */
  readonly bindsByDescriptor: boolean
  readonly startedByRoot: boolean
  readonly architecture: 'x64' | 'arm64'
  readonly system: readonly SystemEntry[]
  /** Where /etc/resolv.conf really lies, if outside the system directories. */
  readonly resolverFile?: string
  readonly hardProcesses: number
  readonly hardFileBlocks: number
  readonly searchProgram: HostPath
}

// SECURITY: fixed places, never PATH: a `bwrap` in a writable directory of PATH would be the boundary.
// test/attacks/persistence: "a bwrap earlier in PATH is not used"
const bwrapPlaces = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap']

export interface Missing {
  readonly reason: string
  readonly fix: string
}

export const installFix =
  'Install it: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), apk add bubblewrap (Alpine).'

/** Gives the path, or says why no bwrap here can be trusted with being the boundary. */
export function findBwrap(places: readonly string[] = bwrapPlaces): { readonly path: string } | Missing {
  for (const place of places) {
    let file
    try {
      file = statSync(place)
    } catch {
      continue
    }
    // SECURITY: a setuid bwrap runs its set-up with privilege (CVE-2020-5291, CVE-2026-41163).
    // test/attacks/persistence: "a bwrap that is setuid or that others can change is not used"
    if ((file.mode & 0o4000) !== 0) return { reason: `${place} is setuid`, fix: `Remove the bit: chmod u-s ${place}` }
    if (file.uid !== 0 || (file.mode & 0o022) !== 0)
      return { reason: `${place} can be changed by others than root`, fix: `chown root ${place}; chmod go-w ${place}` }
    return { path: place }
  }
  return { reason: 'bubblewrap is not installed', fix: installFix }
}

export async function gatherFacts(
  spawner: Spawner,
  {
    bwrapPath,
    searchProgram,
    stateDir,
  }: { readonly bwrapPath: string; readonly searchProgram: HostPath; readonly stateDir: string },
): Promise<HostFacts> {
  const edition = await readEdition(spawner, bwrapPath, join(stateDir, 'bwrap-edition.json'))
  const limits = readFileSync('/proc/self/limits', 'latin1')
  const resolverFile = resolverOutside()
  return {
    bwrapPath,
    version: edition.version,
    bindsByDescriptor: edition.bindsByDescriptor,
    startedByRoot: process.getuid?.() === 0,
    architecture: process.arch === 'arm64' ? 'arm64' : 'x64',
    system: findSystem(),
    ...(resolverFile === undefined ? {} : { resolverFile }),
    hardProcesses: hardLimit(limits, 'Max processes'),
    hardFileBlocks: Math.floor(hardLimit(limits, 'Max file size') / 512),
    searchProgram,
  }
}

interface Edition {
  /** Which file it was said of. */
  readonly of: string
  readonly version: string
  readonly bindsByDescriptor: boolean
}

/** Two starts of bwrap are a good part of a short command's time, so what they said is kept until the file changes. */
async function readEdition(spawner: Spawner, bwrapPath: string, cacheFile: string): Promise<Edition> {
  const { dev, ino, size, mtimeMs, ctimeMs } = statSync(bwrapPath)
  const of = [bwrapPath, dev, ino, size, mtimeMs, ctimeMs].join(' ')
  const kept = readKept(cacheFile)
  if (kept?.of === of) return kept
  const [version, help] = await Promise.all([read(spawner, bwrapPath, '--version'), read(spawner, bwrapPath, '--help')])
  const edition: Edition = {
    of,
    version: /[\d.]+/.exec(version)?.[0] ?? 'unknown',
    bindsByDescriptor: help.includes('--ro-bind-fd'),
  }
  try {
    // Not by way of a temporary, which a kill would leave for ever: a torn one is read as none.
    writeFileSync(cacheFile, JSON.stringify(edition), { mode: 0o600 })
  } catch {
    // It only saves time. A directory that cannot be written is told by what cannot do without.
  }
  return edition
}

function readKept(cacheFile: string): Edition | undefined {
  try {
    return JSON.parse(readFileSync(cacheFile, 'utf8')) as Edition
  } catch {
    return undefined
  }
}

async function read(spawner: Spawner, file: string, argument: string): Promise<string> {
  const child = spawner.spawnChild({ file, args: [argument], cwd: '/', env: {}, stdin: 'none', detached: false })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  child.stderr.resume()
  await Promise.all([child.ended, new Promise((resolve) => child.stdout.once('close', resolve))])
  return text
}

function resolverOutside(): string | undefined {
  try {
    const real = realpathSync('/etc/resolv.conf')
    return isInSystem(real) ? undefined : real
  } catch {
    return undefined
  }
}

/** `Max processes             96349                96349                processes` */
export function hardLimit(table: string, name: string): number {
  const fields = table
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.slice(name.length)
    .trim()
    .split(/\s+/)
  const hard = Number(fields?.[1])
  return Number.isFinite(hard) ? hard : Number.MAX_SAFE_INTEGER
}
