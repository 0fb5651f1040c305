// The workspace as it was after an action, told as what is different now. Made from the change sets of the run and the contents
// that it kept. What is not known, or was not kept, is refused by name: a fork never begins with something that never was.
import { readFileSync, readlinkSync } from 'node:fs'
import type { TreeEntry } from '../../contract/recorded-action.ts'
import { GloveboxError } from '../../errors/error.ts'
import { inside, itself } from '../../paths/descriptor.ts'
import { readBlob } from '../changes/blobs.ts'
import { keyOfPath } from '../changes/fold.ts'
import { withEntry } from '../changes/lower.ts'
import { readHistory, type HistoryStep } from '../changes/history.ts'
import { stateIn, stepsUpTo } from '../changes/state.ts'
import { placeIn } from '../layout.ts'

/** Names below the workspace, one character for each byte. */
export type Restored =
  | { readonly do: 'remove'; readonly place: string }
  | { readonly do: 'directory'; readonly place: string; readonly mode: number }
  | { readonly do: 'link'; readonly place: string; readonly target: Buffer }
  | { readonly do: 'file'; readonly place: string; readonly mode: number; readonly bytes: Buffer }

export interface Restoration {
  /** Sorted: what holds others comes before them. */
  readonly steps: readonly Restored[]
  /** The rights of the directories on the way, as they were. */
  readonly modes: ReadonlyMap<string, number>
}

const toldFiles = 20
const largestFromBelow = 256n * 1024n * 1024n

/** `action` 0 is the state before the first. `under` are the layers below the run's own workspace. */
export async function planRestoration(
  directory: string,
  action: number,
  under: readonly string[],
): Promise<Restoration> {
  const history = await readHistory(directory)
  const then = stateIn(history, action)
  const before = stepsUpTo(history.steps, action)
  const after = history.steps.slice(before.length)
  const gaps = [...then.gaps, ...after.flatMap((step) => step.gaps), ...unendedIn(history.unended)].filter(isOfConcern)
  if (gaps.length > 0) throw unknown(action, gaps)
  const stack = [placeIn(directory, 'workspace'), ...under]
  const missing: string[] = []
  const steps: Restored[] = []
  const known = touchedBy(before)
  for (const [key, path] of touchedBy(after)) {
    const place = placeOf(path)
    if (place === undefined) continue
    const entry = then.entries.get(key)
    // Of an overlay only what differs is on record: what nobody had touched yet was as it lies below.
    const step =
      entry !== undefined
        ? restored(directory, entry, place)
        : known.has(key)
          ? ({ do: 'remove', place } as const)
          : await fromBelow(under, place)
    if (step === undefined) missing.push(path.path)
    // Only what is there: a whiteout over nothing would be listed by the kernel as what it is.
    else if (step.do !== 'remove' || (await isThere(stack, place))) steps.push(step)
  }
  if (missing.length > 0) throw notKept(action, missing)
  const ordered = withoutCovered(steps.toSorted((a, b) => (a.place < b.place ? -1 : 1)))
  return { steps: ordered, modes: await modesOnTheWay(ordered, then.entries, stack) }
}

/** A file that was too large to be hashed is missed only where it is needed, and then by name. */
const isOfConcern = (gap: string): boolean => !gap.endsWith(': files were too large to be hashed.')

const unendedIn = (unended: readonly { readonly number: number }[]): readonly string[] =>
  unended.map(({ number }) => `What action ${number} changed was not recorded.`)

type PathOf = Pick<TreeEntry, 'path' | 'path_base64'>

function touchedBy(steps: readonly HistoryStep[]): ReadonlyMap<string, PathOf> {
  const changes = steps.flatMap((step) => step.changes?.changes ?? [])
  return new Map(changes.map((change) => [keyOfPath(change), change]))
}

const isThere = async (stack: readonly string[], place: string): Promise<boolean> =>
  (await withEntry(stack, place.split('/'), () => Promise.resolve(true))) === true

/** Undefined when it is more than is read into memory. */
async function fromBelow(under: readonly string[], place: string): Promise<Restored | undefined> {
  if (under.length === 0) return { do: 'remove', place }
  let step: Restored | undefined = { do: 'remove', place }
  await withEntry(under, place.split('/'), async (found) => {
    const mode = Number(found.stats.mode & 0o7777n)
    if (found.stats.isDirectory()) step = { do: 'directory', place, mode }
    else if (found.stats.isSymbolicLink())
      step = { do: 'link', place, target: readlinkSync(inside(found.within, found.name), 'buffer') }
    else if (found.stats.isFile() && found.stats.size <= largestFromBelow)
      step = { do: 'file', place, mode, bytes: readFileSync(itself(found.fd)) }
    else step = undefined
  })
  return step
}

/** Of directories that are the same then and now, and must stand in a layer that holds something below them. */
async function modesOnTheWay(
  steps: readonly Restored[],
  entries: ReadonlyMap<string, TreeEntry>,
  stack: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const modes = new Map<string, number>()
  for (const entry of entries.values()) {
    const place = entry.kind === 'directory' ? placeOf(entry) : undefined
    if (place !== undefined) modes.set(place, entry.mode)
  }
  for (const { place } of steps) {
    const names = place.split('/').slice(0, -1)
    for (const [index] of names.entries()) {
      const way = names.slice(0, index + 1)
      if (modes.has(way.join('/'))) continue
      await withEntry(stack, way, async ({ stats }) => void modes.set(way.join('/'), Number(stats.mode & 0o7777n)))
    }
  }
  return modes
}

/** Undefined for what lies outside of the workspace: a fork begins without deliverables. */
function placeOf({ path, path_base64: base64 }: PathOf): string | undefined {
  const bytes = base64 === null ? Buffer.from(path) : Buffer.from(base64, 'base64')
  const place = bytes.toString('latin1')
  return place.startsWith('workspace/') ? place.slice('workspace/'.length) : undefined
}

/** Undefined when it cannot be had any more. */
function restored(directory: string, entry: TreeEntry, place: string): Restored | undefined {
  if (entry.kind === 'directory') return { do: 'directory', place, mode: entry.mode }
  const blob = entry.sha256 === null || !entry.kept ? undefined : readBlob(directory, entry.sha256)
  if (entry.kind === 'symlink') {
    const target = blob ?? (entry.target === null ? undefined : Buffer.from(entry.target))
    return target && { do: 'link', place, target }
  }
  return entry.kind === 'file' && blob !== undefined ? { do: 'file', place, mode: entry.mode, bytes: blob } : undefined
}

/** What lies below a thing that is removed goes with it. */
function withoutCovered(steps: readonly Restored[]): readonly Restored[] {
  const removed = steps.filter((step) => step.do === 'remove').map(({ place }) => `${place}/`)
  return steps.filter(({ place }) => !removed.some((above) => place.startsWith(above)))
}

const unknown = (action: number, gaps: readonly string[]): GloveboxError =>
  new GloveboxError('NOT_FOUND', `Cannot fork the run after action ${action}: ${gaps[0]}`, {
    hint: 'Fork it as it was at its end: leave out --at.',
    facts: { gaps: gaps.slice(0, toldFiles) },
  })

const notKept = (action: number, paths: readonly string[]): GloveboxError =>
  new GloveboxError(
    'NOT_FOUND',
    `Cannot fork the run after action ${action}: what ${paths.length === 1 ? 'a file' : `${paths.length} files`} held then was not kept (${paths
      .slice(0, 5)
      .map((path) => path.slice(0, 200))
      .join(', ')}${paths.length > 5 ? ', …' : ''})`,
    {
      hint: 'Files above a megabyte are not kept when they change. Fork at a moment after they last changed, or at the end.',
      facts: { paths: paths.slice(0, toldFiles) },
    },
  )
