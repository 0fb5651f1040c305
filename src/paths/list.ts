// Listing a directory: sorted, bounded in memory however many names there are, with nested mounts.
import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { DirectoryEntry, ListResult } from '../contract/files.ts'
import { isWaypoint, notTheOwners, walk, type Arrival, type Reach } from './contain.ts'
import { inside, itself, type Opened } from './descriptor.ts'
import { kindOf } from './entries.ts'
import { fromSegments, segmentsOf } from './guest.ts'
import { ownerMay } from './owner.ts'
import { isErrno, refusal, type Question } from './refusal.ts'
import { ruleAt } from './rules.ts'

const entriesPerTurn = 256

export async function listDirectory(
  reach: Reach,
  asked: Question,
  options: { readonly limit: number },
): Promise<ListResult> {
  if (!Number.isSafeInteger(options.limit) || options.limit < 1) {
    throw refusal('INVALID_INPUT', asked, 'limit must be a whole number, one or more')
  }
  const place = walk(reach, { ...asked, followLeaf: true })
  if (isWaypoint(place)) return limited(reach.table.nestedNames(place.waypoint).map(mountEntry), options.limit)
  try {
    return await listPlace(reach, place, asked, options.limit)
  } finally {
    place.close()
  }
}

async function listPlace(reach: Reach, place: Arrival, asked: Question, limit: number): Promise<ListResult> {
  const nested = reach.table.nestedNames(place.path)
  if (place.leaf === undefined && nested.length > 0) return limited(nested.map(mountEntry), limit)
  if (place.leaf === undefined) throw refusal('NOT_FOUND', asked, 'nothing is there')
  if (!place.leaf.stats.isDirectory()) throw refusal('NOT_A_DIRECTORY', asked, 'it is not a directory')
  if (!ownerMay(place.owner, place.leaf.stats, 'read')) throw notTheOwners(asked)
  const names = await firstNames(place.leaf, new Set(nested), limit)
  const entries = nested.map(mountEntry)
  for (const [index, name] of names.entries()) {
    const entry = describeEntry(reach, place, place.leaf, name)
    if (entry !== undefined) entries.push(entry)
    if (index % entriesPerTurn === entriesPerTurn - 1) await setImmediate()
  }
  const shown = entries.toSorted(byName).slice(0, limit)
  return { entries: shown, truncated: names.length + nested.length > limit }
}

interface RawName {
  readonly name: string
  /** The name's bytes, which need not be UTF-8. */
  readonly raw: Buffer
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** The first `limit` + 1 names in order: one more than shown tells that there are more. */
async function firstNames(directory: Opened, except: ReadonlySet<string>, limit: number): Promise<RawName[]> {
  const wanted = limit + 1
  let kept: RawName[] = []
  // As latin1 every byte is one character, so names that are not UTF-8 survive.
  for await (const { name: latin } of await opendir(itself(directory.fd), { encoding: 'latin1', bufferSize: 1024 })) {
    const raw = Buffer.from(latin, 'latin1')
    const name = raw.toString('utf8')
    if (!except.has(name)) kept.push({ name, raw })
    if (kept.length >= wanted * 2 + entriesPerTurn) kept = kept.toSorted(byName).slice(0, wanted)
  }
  return kept.toSorted(byName).slice(0, wanted)
}

/** Undefined if it vanished meanwhile. */
function describeEntry(
  reach: Reach,
  place: Arrival,
  directory: Opened,
  { name, raw }: RawName,
): DirectoryEntry | undefined {
  const path = inside(directory.fd, raw)
  try {
    const stats = lstatSync(path, { bigint: true })
    if (place.mount.mode === 'vault' || isHidden(reach, place, name, stats))
      return { name, kind: kindOf(stats), sizeBytes: 0 }
    const target = stats.isSymbolicLink() ? { target: readlinkSync(path) } : {}
    return { name, kind: kindOf(stats), sizeBytes: Number(stats.size), ...target }
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EINVAL')) return undefined
    throw error
  }
}

const isHidden = (reach: Reach, place: Arrival, name: string, stats: BigIntStats): boolean =>
  reach.held.denies(stats) ||
  (reach.rules.denied.length > 0 &&
    ruleAt(reach.rules.denied, fromSegments([...segmentsOf(place.path), name])) !== undefined)

const mountEntry = (name: string): DirectoryEntry => ({ name, kind: 'directory', sizeBytes: 0 })

const limited = (entries: readonly DirectoryEntry[], limit: number): ListResult => ({
  entries: entries.slice(0, limit),
  truncated: entries.length > limit,
})
