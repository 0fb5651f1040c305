// Takes away what a journal lists, but for what a sandbox that is still alive lists too.
import { ownIdentity } from '../../process/identity.ts'
import type { Journal, JournalEntry } from '../journal.ts'
import { openRoots, removePlaceholder } from './remove.ts'

export interface Kept {
  /** On the host; for the operator only. */
  readonly path: string
  readonly why: string
}

export interface SweptEntries {
  readonly removed: number
  readonly kept: readonly Kept[]
  /** What could not be tried to the end, for another time. */
  readonly remaining: readonly JournalEntry[]
}

export function sweepEntries(journal: Journal, live: readonly Journal[]): SweptEntries {
  const sameBoot = journal.owner.bootId === ownIdentity().bootId
  const kept: Kept[] = []
  const remaining: JournalEntry[] = []
  const roots = openRoots()
  let removed = 0
  for (const entry of journal.entries) {
    if (live.some((other) => other.entries.some((used) => isSamePlaceholder(entry, used, sameBoot)))) continue
    const path = `${entry.root}/${entry.name}`
    try {
      const removal = removePlaceholder(entry, roots, { sameBoot })
      if (removal === 'removed') removed += 1
      // Without an inode it was never there, and what is there now was always the user's.
      else if (removal !== 'gone' && entry.inode !== undefined) kept.push({ path, why: removal })
    } catch (error) {
      kept.push({ path, why: error instanceof Error ? error.message : String(error) })
      remaining.push(entry)
    }
  }
  roots.close()
  return { removed, kept, remaining }
}

function isSamePlaceholder(entry: JournalEntry, used: JournalEntry, sameBoot: boolean): boolean {
  if (entry.inode === undefined || entry.inode !== used.inode) return false
  if (entry.born !== undefined && used.born !== undefined && entry.born !== used.born) return false
  return !sameBoot || entry.device === used.device
}
