// What there is to know of one entry that is held by a descriptor.
import { fstatSync, readlinkSync, type Stats } from 'node:fs'
import type { ChangeStop } from '../../contract/recorded-action.ts'
import { inside, statsInside, type Name, type Opened } from '../../paths/descriptor.ts'
import { kindOf } from '../../paths/entries.ts'
import { isErrno } from '../../paths/refusal.ts'
import { sha256Of, type Blobs } from './blobs.ts'
import { contentOf, type ReadBudget } from './content.ts'
import { stampOf, topFacts, type Facts, type Stamp } from './tree.ts'

export interface Finding {
  readonly facts: Facts
  readonly stamp: Stamp
  /** It was being changed meanwhile, or could not be read whole. */
  readonly stop: ChangeStop | undefined
}

export interface Held extends Pick<Opened, 'fd' | 'stats'> {
  /** The directory in which it was found, and its name there. */
  readonly within: number
  readonly name: Name
}

export interface FindingOptions {
  readonly budget: ReadBudget
  readonly blobs: Blobs
}

export async function findingOf(held: Held, { budget, blobs }: FindingOptions): Promise<Finding> {
  const stats = fstatSync(held.fd)
  const kind = kindOf(held.stats)
  const bare: Facts = { ...topFacts, kind, mode: stats.mode & 0o7777 }
  if (kind === 'symlink') return linkFinding(held, bare, stats, blobs)
  if (kind !== 'file')
    return { facts: { ...bare, isWhiteout: isWhiteout(held) }, stamp: stampOf(stats), stop: undefined }
  const { sha256, kept, size, stamp, stop } = await contentOf(held.fd, stats, budget, blobs)
  return { facts: { ...bare, size, sha256, kept }, stamp, stop }
}

/** How overlayfs says in a layer that nothing is here. */
const isWhiteout = ({ stats }: Held): boolean => stats.isCharacterDevice() && stats.rdev === 0n

// SECURITY: the text of a link is recorded and nothing behind it is opened.
// src/runs/changes/watch: "a symlink is recorded as a link and never followed"
function linkFinding({ within, name }: Held, bare: Facts, stats: Stats, blobs: Blobs): Finding {
  const bytes = readLink(within, name)
  // There is no way to read the text of a link that is held, so it is asked afterwards whether it was this one.
  const isThis = bytes !== undefined && statsInside(within, name)?.ino === BigInt(stats.ino)
  if (!isThis) return { facts: bare, stamp: stampOf(stats), stop: 'concurrent' }
  const target = bytes.toString('utf8')
  const sha256 = sha256Of(bytes)
  // Where the record cannot spell the text, its bytes are kept.
  const kept = !Buffer.from(target).equals(bytes) && blobs.keep(sha256, bytes)
  return { facts: { ...bare, size: bytes.length, sha256, target, kept }, stamp: stampOf(stats), stop: undefined }
}

function readLink(fd: number, name: Name): Buffer | undefined {
  try {
    return readlinkSync(inside(fd, name), 'buffer')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EINVAL')) return undefined
    throw error
  }
}
