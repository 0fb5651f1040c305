// Watches the two trees of a run, and says after each action what it changed. A look is a walk: it costs one lstat for each
// entry that is as it was, and a read for each file that is not. It promises that the start and all change sets together are
// the trees as they are, and that a look which may have missed something says so. It follows no link, opens nothing but
// regular files, and knows neither sandboxes nor actions. What it cannot see is a write through a mapping whose page was dirty
// at the last look already, by a process that outlives its action; the manifest at the end of a run hashes everything again.
import type { ChangeSet, ChangeStop, StartState, TreeEntry } from '../../contract/recorded-action.ts'
import { placeIn } from '../layout.ts'
import { asStorageError } from '../storage-error.ts'
import { Blobs } from './blobs.ts'
import { Breath } from './breath.ts'
import { Differences } from './differences.ts'
import { glance } from './glance.ts'
import { hasFineTimes } from './grain.ts'
import { writeStart } from './start.ts'
import { Overlay, type OverlayLayers } from './overlay.ts'
import { Survey } from './survey.ts'
import { descendants, entryOf, newNode, pathKeyOf, topFacts, type Facts, type TreeNode } from './tree.ts'

export interface ChangeLimits {
  /** Entries that are remembered, in both trees together. */
  readonly maxEntries: number
  readonly maxDepth: number
  /** Larger files are hashed, but their content is not kept. */
  readonly maxFileBytes: number
  /** Of all contents that are kept. */
  readonly maxKeptBytes: number
  /** Bytes that one look hashes. What lies beyond is listed without a hash. */
  readonly maxHashedBytes: number
}

const defaultChangeLimits: ChangeLimits = {
  maxEntries: 100_000,
  maxDepth: 100,
  maxFileBytes: 1024 ** 2,
  maxKeptBytes: 64 * 1024 ** 2,
  maxHashedBytes: 256 * 1024 ** 2,
}

export interface ChangeWatchOptions {
  /** Host path of the run directory. */
  readonly directory: string
  readonly limits?: Partial<ChangeLimits> | undefined
  /** Of a workspace that is an overlay. Only the upper layer is watched. */
  readonly layers?: OverlayLayers | undefined
  /** Of contents that would be kept. Default: all may be. */
  readonly mayKeep?: ((bytes: Uint8Array) => boolean) | undefined
  /** Whether two changes of a file always have two times. Default: the filesystem is asked. */
  readonly hasFineTimes?: boolean | undefined
}

export interface LookOptions {
  /** Other actions were under way, so that this look tells what all of them changed, and may have caught half of it. */
  readonly concurrent?: boolean
}

export interface ChangeWatch {
  /** What changed since the last look. One look at a time: a second waits for the first. */
  look(options?: LookOptions): Promise<ChangeSet>
  /** Both trees as the last look left them, sorted by path. */
  manifest(): readonly TreeEntry[]
  /** Waits for a look that is under way. There are none afterwards. */
  close(): void
}

/** Settles when the state before the first action is known and written to archive/base.json. */
export async function openChangeWatch(options: ChangeWatchOptions): Promise<ChangeWatch> {
  let trees: Trees
  try {
    // It asks the filesystem how finely it tells times, by a file.
    trees = new Trees(options)
    const { changes: _, ...found } = await trees.look({})
    writeStart(options.directory, {
      ...found,
      lower: [...(options.layers?.lower ?? [])],
      entries: [...trees.entries()],
    } satisfies StartState)
  } catch (error) {
    throw asStorageError(error, 'watch the files of the run')
  }
  let last: Promise<unknown> = Promise.resolve()
  let isOpen = true
  return {
    look(asked = {}) {
      const next = last.then(async () => {
        if (!isOpen) throw new Error('the watch is closed')
        return trees.look(asked)
      })
      last = next.catch(() => {})
      return next.catch((error: unknown) => {
        throw asStorageError(error, 'see what has changed')
      })
    },
    manifest: () => [...trees.entries()],
    close() {
      isOpen = false
    },
  }
}

interface Tree {
  readonly top: TreeNode
  readonly hostPath: string
  readonly overlay: Overlay | undefined
}

class Trees {
  readonly #limits: ChangeLimits
  readonly #trees: readonly Tree[]
  readonly #blobs: Blobs
  readonly #hasFineTimes: boolean
  readonly #count = { entries: 0 }

  constructor({ directory, limits, layers, ...options }: ChangeWatchOptions) {
    this.#limits = { ...defaultChangeLimits, ...limits }
    this.#trees = [
      treeOf('deliverables', placeIn(directory, 'deliverables'), undefined),
      treeOf('workspace', layers?.upper ?? placeIn(directory, 'workspace'), layers),
    ]
    this.#blobs = new Blobs(directory, this.#limits.maxKeptBytes, options.mayKeep)
    const tops = this.#trees.map(({ hostPath }) => hostPath)
    this.#hasFineTimes = options.hasFineTimes ?? hasFineTimes(placeIn(directory, 'archive'), tops)
  }

  async look({ concurrent = false }: LookOptions): Promise<ChangeSet> {
    const differences = new Differences()
    const stopped = new Set<ChangeStop>(concurrent ? ['concurrent'] : [])
    const breath = new Breath()
    const { maxFileBytes, maxHashedBytes } = this.#limits
    const reading = { budget: { maxFileBytes, hashBytesLeft: maxHashedBytes }, blobs: this.#blobs, breath, stopped }
    for (const { top, hostPath, overlay } of this.#trees) {
      const found = overlay === undefined ? differences : new Differences()
      const { maxEntries, maxDepth } = this.#limits
      const seen = { maxEntries, maxDepth, hasFineTimes: this.#hasFineTimes, count: this.#count }
      const survey = new Survey({ ...reading, ...seen, differences: found })
      const suspects = await glance(top, hostPath, breath)
      if (suspects.size > 0) await survey.examine(top, hostPath, suspects)
      await overlay?.translate(found, differences, { ...reading, onStop: (stop) => stopped.add(stop) })
    }
    return {
      by: this.#trees.some(({ overlay }) => overlay !== undefined) ? 'overlay' : 'walk',
      complete: stopped.size === 0,
      stopped: [...stopped].toSorted(),
      changes: differences.changes(),
    }
  }

  /** Of an overlay: what differs from the layers below. */
  entries(): readonly TreeEntry[] {
    const keyed = this.#trees.flatMap(({ top, overlay }) => overlay?.entries() ?? factsBelow(top))
    return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, facts]) => entryOf(key, facts))
  }
}

function treeOf(name: string, hostPath: string, layers: OverlayLayers | undefined): Tree {
  const top = newNode(name, undefined, topFacts)
  return { top, hostPath, overlay: layers === undefined ? undefined : new Overlay(layers, top) }
}

const factsBelow = (top: TreeNode): readonly (readonly [string, Facts])[] =>
  Array.from(descendants(top), (node) => [pathKeyOf(node), node.facts] as const)
