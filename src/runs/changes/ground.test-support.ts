// A directory with the trees of a run and nothing else, and the truth about them by a walk of its own.
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'

export interface TreeGround {
  readonly directory: string
  place(path: string): string
}

export function makeTrees(): TreeGround {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'glovebox-changes-'))
  for (const name of ['workspace', 'deliverables', 'archive', 'logs']) mkdirSync(join(directory, name))
  return { directory, place: (path) => join(directory, path) }
}

export function treesForEach(): () => TreeGround {
  let ground: TreeGround | undefined
  beforeEach(() => void (ground = makeTrees()))
  afterEach(() => {
    if (ground !== undefined) rmSync(ground.directory, { recursive: true, force: true })
  })
  return () => {
    if (ground === undefined) throw new Error('there is no ground outside of a test')
    return ground
  }
}

/** One line for each entry: what it is, its mode, and its content. */
export function truth(directory: string): readonly string[] {
  const lines: string[] = []
  const visit = (path: string): void => {
    for (const name of readdirSync(join(directory, path))) {
      const below = `${path}/${name}`
      const stats = lstatSync(join(directory, below))
      const mode = (stats.mode & 0o7777).toString(8)
      if (stats.isSymbolicLink()) lines.push(`${below} symlink ${mode} ${readlinkSync(join(directory, below))}`)
      else if (stats.isDirectory()) lines.push(`${below} directory ${mode} `)
      else if (stats.isFile()) lines.push(`${below} file ${mode} ${sha256(readFileSync(join(directory, below)))}`)
      else lines.push(`${below} other ${mode} `)
      if (stats.isDirectory()) visit(below)
    }
  }
  visit('workspace')
  visit('deliverables')
  return lines.toSorted()
}

export interface Told {
  readonly path: string
  readonly kind: string
  readonly mode: number
  readonly sha256: string | null
  readonly target: string | null
}

export const told = (entries: Iterable<Told>): readonly string[] =>
  [...entries]
    .map(({ path, kind, mode, sha256: hash, target }) => {
      const content = kind === 'file' ? (hash ?? 'unknown') : (target ?? '')
      return `${path} ${kind} ${mode.toString(8)} ${content}`
    })
    .toSorted()

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
