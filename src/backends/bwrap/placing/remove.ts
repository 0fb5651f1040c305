// Takes a placeholder away if it is still what was put there: the same inode, and the same content. Else it is the user's.
import { closeSync, rmdirSync, unlinkSync, type BigIntStats } from 'node:fs'
import type { JournalEntry } from '../journal.ts'
import { hasCode } from './codes.ts'
import { below, findEntry, findParent, isUntouched, openRoot } from './walk.ts'

export type Removal = 'removed' | 'gone' | 'has content' | 'is something else'

export function isSame(entry: JournalEntry, found: BigIntStats, { sameBoot }: { readonly sameBoot: boolean }): boolean {
  if (entry.inode === undefined || String(found.ino) !== entry.inode) return false
  // Device numbers may be given out anew at boot; inode numbers are on disk.
  return !sameBoot || String(found.dev) === entry.device
}

export function removePlaceholder(entry: JournalEntry, options: { readonly sameBoot: boolean }): Removal {
  const root = findRoot(entry.root)
  if (root === undefined) return 'gone'
  try {
    const place = findParent(root, entry.name)
    if (place === undefined) return 'gone'
    try {
      removeTemporary(place.parent, entry)
      return removeAt(place, entry, options)
    } finally {
      closeSync(place.parent)
    }
  } finally {
    closeSync(root)
  }
}

function removeAt(
  { parent, component }: { readonly parent: number; readonly component: string },
  entry: JournalEntry,
  options: { readonly sameBoot: boolean },
): Removal {
  const found = findEntry(parent, component)
  if (found === undefined) return 'gone'
  // Without an inode on record it never got this name: whatever is here, we did not put it.
  if (!isSame(entry, found, options)) return 'is something else'
  if (!isUntouched(parent, component, found, entry.content)) return 'has content'
  return removeEmpty(below(parent, component), found) ? 'removed' : 'has content'
}

/** The name is random, so nobody else has made it. */
function removeTemporary(parent: number, entry: JournalEntry): void {
  if (entry.temporary === undefined) return
  const found = findEntry(parent, entry.temporary)
  if (found === undefined) return
  // Killed between making and filling, it is empty whatever it was to hold.
  const { temporary } = entry
  const ours = [entry.content, ''].some((content) => isUntouched(parent, temporary, found, content))
  if (ours) removeEmpty(below(parent, temporary), found)
}

/** False when content came in the meantime. */
function removeEmpty(path: string, found: BigIntStats): boolean {
  try {
    if (found.isDirectory()) rmdirSync(path)
    else unlinkSync(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false
    throw error
  }
}

function findRoot(path: string): number | undefined {
  try {
    return openRoot(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
