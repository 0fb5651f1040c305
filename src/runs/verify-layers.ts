// Where the files of a run lie, for the verifier. Of a fork by overlay they lie in several directories, nearest first, and what
// overlayfs would show of them is worked out here, by path and apart from the code that made the manifest. A place is a path
// below the run directory with one character for each byte; so is every path in here.
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { forkRecordSchema, type ForkLayer } from '../contract/fork.ts'
import { runRecordSchema } from '../contract/run.ts'
import { openAttributes, type Attributes } from '../process/attributes.ts'
import type { Finding } from './verify-log.ts'

export interface Places {
  /** Undefined when nothing is there. */
  pathOf(place: string): Buffer | undefined
  namesIn(place: string): readonly string[]
}

export function placesIn(directory: string): Places | { readonly finding: Finding } {
  const layers = layersOf(directory)
  if (typeof layers === 'string') return { finding: { kind: 'file', subject: 'archive/fork.json', detail: layers } }
  if (layers.length === 0) return plainPlaces(directory)
  const attributes = process.geteuid?.() === 0 ? openAttributes() : undefined
  if (attributes !== undefined) return layeredPlaces(directory, new Stack(layers, attributes))
  const detail = 'the runs below it can be looked through only by root, with the package koffi'
  return { finding: { kind: 'file', subject: 'archive/fork.json', detail } }
}

const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1')
const latinOf = (path: string): string => Buffer.from(path).toString('latin1')

function plainPlaces(directory: string): Places {
  const onDisk = (place: string): Buffer => Buffer.concat([Buffer.from(`${directory}/`), bytesOf(place)])
  return { pathOf: onDisk, namesIn: (place) => readdirSync(onDisk(place), { encoding: 'latin1' }) }
}

function layeredPlaces(directory: string, stack: Stack): Places {
  const plain = plainPlaces(directory)
  const below = (place: string): string | undefined => (/^workspace(?:\/|$)/.test(place) ? place.slice(10) : undefined)
  return {
    pathOf(place) {
      const path = below(place)
      if (path === undefined) return plain.pathOf(place)
      const found = stack.find(path)
      return found === undefined ? undefined : bytesOf(found)
    },
    namesIn(place) {
      const path = below(place)
      return path === undefined ? plain.namesIn(place) : stack.namesIn(path)
    },
  }
}

/** Host paths, nearest first; or what is wrong. */
function layersOf(directory: string): readonly string[] | string {
  const text = readOrUndefined(join(directory, 'archive', 'fork.json'))
  if (text === undefined) return []
  const parsed = forkRecordSchema.safeParse(jsonOf(text))
  if (!parsed.success) return 'it is not of its schema'
  if (parsed.data.layers.length === 0) return []
  const found = parsed.data.layers.map((layer) => ({ layer, at: locate(directory, layer) }))
  const lost = found.find(({ at }) => at === undefined)
  if (lost !== undefined) return `the run ${lost.layer.run_id} below it is not where it was`
  return [join(directory, 'workspace'), ...found.map(({ layer, at }) => join(at ?? '', layer.place))].map(latinOf)
}

const locate = (directory: string, { relative, directory: known, run_id: id }: ForkLayer): string | undefined =>
  [resolve(directory, relative), known].find((place) => {
    const parsed = runRecordSchema.safeParse(jsonOf(readOrUndefined(join(place, 'run.json')) ?? ''))
    return parsed.success && parsed.data.run_id === id
  })

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A directory of one layer. */
interface Piece {
  readonly path: string
  readonly layer: number
}

class Stack {
  readonly #roots: readonly Piece[]
  readonly #attributes: Attributes
  readonly #known = new Map<string, readonly Piece[]>()

  constructor(layers: readonly string[], attributes: Attributes) {
    this.#roots = layers.map((path, layer) => ({ path, layer }))
    this.#attributes = attributes
  }

  find(path: string): string | undefined {
    const cut = path.lastIndexOf('/')
    return this.#lookUp(path.slice(0, Math.max(0, cut)), path.slice(cut + 1))?.path
  }

  namesIn(path: string): readonly string[] {
    const listed = this.#pieces(path).flatMap((piece) => readdirSync(bytesOf(piece.path), { encoding: 'latin1' }))
    return [...new Set(listed)].filter((name) => this.#lookUp(path, name) !== undefined)
  }

  #lookUp(directory: string, name: string): Piece | undefined {
    for (const piece of this.#pieces(directory)) {
      const path = `${piece.path}/${name}`
      const kind = kindAt(path)
      if (kind !== 'nothing') return kind === 'whiteout' ? undefined : { path, layer: piece.layer }
    }
    return undefined
  }

  /** Those that make up the directory at a path of the whole. */
  #pieces(path: string): readonly Piece[] {
    if (path === '') return this.#roots
    const known = this.#known.get(path)
    if (known !== undefined) return known
    const pieces = this.#gather(path)
    this.#known.set(path, pieces)
    return pieces
  }

  /** Layer by layer from their roots, since a rename in one says where to look in those below it. */
  #gather(path: string): readonly Piece[] {
    const pieces: Piece[] = []
    let way = path.split('/')
    for (const { path: root, layer } of this.#roots) {
      const walked = this.#walk(root, way)
      if (walked.path !== undefined) pieces.push({ path: walked.path, layer })
      if (walked.isLast) break
      way = walked.way
    }
    return pieces
  }

  /** `way` is the one for the layers below. */
  #walk(root: string, way: readonly string[]): { path: string | undefined; isLast: boolean; way: string[] } {
    let at = root
    let next: string[] = []
    let isLast = false
    for (const [index, name] of way.entries()) {
      at = `${at}/${name}`
      const kind = kindAt(at)
      if (kind === 'nothing') {
        next.push(...way.slice(index))
        return { path: undefined, isLast, way: next }
      }
      if (kind !== 'directory') return { path: undefined, isLast: true, way: next }
      const isOpaque = this.#note(at, 'opaque') === 'y'
      const moved = isOpaque ? undefined : this.#note(at, 'redirect')
      if (moved?.startsWith('/') === true) {
        // From the roots: that something above was closed does not matter any more.
        next = moved.split('/').slice(1)
        isLast = false
      } else {
        next.push(moved ?? name)
        isLast ||= isOpaque
      }
    }
    return { path: at, isLast, way: next }
  }

  #note(path: string, name: 'opaque' | 'redirect'): string | undefined {
    return this.#attributes.get(bytesOf(path), `trusted.overlay.${name}`)?.toString('latin1')
  }
}

function kindAt(path: string): 'nothing' | 'whiteout' | 'directory' | 'other' {
  const stats = lstatSync(bytesOf(path), { throwIfNoEntry: false })
  if (stats === undefined) return 'nothing'
  if (stats.isDirectory()) return 'directory'
  return stats.isCharacterDevice() && stats.rdev === 0 ? 'whiteout' : 'other'
}
