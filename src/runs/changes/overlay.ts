// A workspace that is an overlay, watched through its upper layer alone, so that a look costs what was changed and not what
// there is. What is different in the upper layer is translated into what the guest sees as different: a whiteout is a deletion
// of all that lay below it, a copied-up file a change, and a directory that hides or moves what lies below changes all of that.
// Everything that ever differed from the layers below is remembered; the rest is as it is there.
import { sameInode } from '../../paths/descriptor.ts'
import type { Difference, Differences } from './differences.ts'
import { below, factsIn, partsOf, withEntry, type LayerOptions } from './lower.ts'
import { findNode, type Facts, type TreeNode } from './tree.ts'

export interface OverlayLayers {
  /** Host path of the directory that takes every change. */
  readonly upper: string
  /** Host paths, nearest first. */
  readonly lower: readonly string[]
}

/** Undefined: nothing is there. */
type Seen = Facts | undefined

export class Overlay {
  readonly #layers: OverlayLayers
  readonly #top: TreeNode
  /** By path below the top. */
  readonly #differing = new Map<string, Seen>()
  /** Directories of the upper layer that show nothing from below, and of which that has been told. */
  readonly #closed = new Map<string, number>()

  constructor(layers: OverlayLayers, top: TreeNode) {
    this.#layers = layers
    this.#top = top
  }

  async translate(raw: Differences, told: Differences, options: LayerOptions): Promise<void> {
    const prefix = `${String(this.#top.name)}/`
    let covered: string | undefined
    for (const [path, { after }] of depthFirst(raw, prefix)) {
      if (covered !== undefined && path.startsWith(covered)) continue
      const look = new Translation(path, (at, before, now) => {
        this.#differing.set(at, now)
        told.note(`${prefix}${at}`, before, now, true)
      })
      covered = (await this.#path(look, after, options)) ? `${path}/` : undefined
    }
  }

  entries(): readonly (readonly [pathKey: string, facts: Facts])[] {
    return [...this.#differing].flatMap(([path, seen]) =>
      seen === undefined ? [] : [[`${String(this.#top.name)}/${path}`, seen] as const],
    )
  }

  /** True when everything below the path has been told too. */
  async #path(look: Translation, after: Seen, options: LayerOptions): Promise<boolean> {
    if (after?.kind === 'directory') return this.#directory(look, after, options)
    const before = await this.#known(look.path, options)
    const now =
      after === undefined
        ? await this.#shown(look.path, options)
        : after.isWhiteout === true
          ? none
          : leaf(look.path, after)
    look.tell(before, now)
    return true
  }

  async #directory(look: Translation, after: Facts, options: LayerOptions): Promise<boolean> {
    const { path } = look
    const under = await this.#under(path)
    if (under === 'elsewhere') {
      look.tell(await this.#known(path, options), await this.#shown(path, options))
      return true
    }
    const own = await this.#knownAt(path, options)
    look.note(path, own, after)
    if (own !== undefined && own.kind === 'directory' && under === 'merged') return false
    const inode = findNode(this.#top, path)?.stamp.ino
    if (inode === undefined || this.#closed.get(path) === inode) return false
    this.#closed.set(path, inode)
    for (const [at, before] of await this.#known(path, options)) {
      if (at !== path && findNode(this.#top, at) === undefined) look.note(at, before, undefined)
    }
    return false
  }

  /** What a directory of the upper layer stands on. */
  async #under(path: string): Promise<'nothing' | 'merged' | 'elsewhere'> {
    const { upper, lower } = this.#layers
    const way = path.split('/')
    const under = (await withEntry([upper, ...lower], way, async (found, view) => partsOf(found, view)))?.under
    if (under === undefined) return 'nothing'
    const isSame = await withEntry(lower, way, async (found) => sameInode(found.stats, under))
    return isSame === true ? 'merged' : 'elsewhere'
  }

  /** What was last known of one path. */
  async #knownAt(path: string, options: LayerOptions): Promise<Seen> {
    if (this.#differing.has(path)) return this.#differing.get(path)
    return withEntry(this.#layers.lower, path.split('/'), (found) => factsIn(found, options))
  }

  /** What was last known of a path and all below it. */
  async #known(path: string, options: LayerOptions): Promise<Map<string, Facts>> {
    const known = await this.#enumerate(this.#layers.lower, path, options, (at) => !this.#differing.has(at))
    for (const [at, seen] of this.#differing) {
      if (seen !== undefined && (at === path || at.startsWith(`${path}/`))) known.set(at, seen)
    }
    return known
  }

  /** What the guest sees now of a path and all below it. */
  #shown(path: string, options: LayerOptions): Promise<Map<string, Facts>> {
    return this.#enumerate([this.#layers.upper, ...this.#layers.lower], path, options, () => true)
  }

  async #enumerate(
    layers: readonly string[],
    path: string,
    options: LayerOptions,
    isWanted: (path: string) => boolean,
  ): Promise<Map<string, Facts>> {
    const entries = new Map<string, Facts>()
    await withEntry(layers, path.split('/'), async (top, view) => {
      if (isWanted(path)) entries.set(path, await factsIn(top, options))
      for await (const [at, found] of below(top, view, path)) {
        if (isWanted(at)) entries.set(at, await factsIn(found, options))
        const pause = options.breath.takeExamined()
        if (pause !== undefined) await pause
      }
    })
    return entries
  }
}

/** Each directory followed by all that is below it. */
const depthFirst = (raw: Differences, prefix: string): readonly (readonly [path: string, difference: Difference])[] =>
  raw
    .all()
    .map(([pathKey, difference]) => [pathKey.slice(prefix.length), difference] as const)
    .toSorted(([a], [b]) => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1))

const none: ReadonlyMap<string, Facts> = new Map()
const leaf = (path: string, facts: Facts): ReadonlyMap<string, Facts> => new Map([[path, facts]])

class Translation {
  readonly path: string
  readonly note: (path: string, before: Seen, after: Seen) => void

  constructor(path: string, note: Translation['note']) {
    this.path = path
    this.note = note
  }

  tell(before: ReadonlyMap<string, Facts>, after: ReadonlyMap<string, Facts>): void {
    for (const path of new Set([...before.keys(), ...after.keys()])) this.note(path, before.get(path), after.get(path))
  }
}
