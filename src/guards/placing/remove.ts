// Takes a placeholder away if it is still what was put there: the same inode, and the same content. Else it is the user's.
import { closeSync, rmdirSync, unlinkSync, type BigIntStats } from 'node:fs'
import type { JournalEntry } from '../journal.ts'
import { hasCode } from './codes.ts'
import { below, findEntry, inParent, isUntouched, openRoot } from './walk.ts'

export type Removal = 'removed' | 'gone' | 'has content' | 'is something else'

export type Identified = Pick<BigIntStats, 'dev' | 'ino' | 'birthtimeNs'>

export function isSame(entry: JournalEntry, found: Identified, { sameBoot }: { readonly sameBoot: boolean }): boolean {
  if (entry.inode === undefined || String(found.ino) !== entry.inode) return false
  // A file of the user's may have got the number of a placeholder that is gone.
  if (entry.born !== undefined && String(found.birthtimeNs) !== entry.born) return false
  // Device numbers may be given out anew at boot; inode numbers are on disk.
  return !sameBoot || String(found.dev) === entry.device
}

/** The roots that a journal names, each opened once. */
export interface Roots {
  /** Undefined: it is gone. */
  find(path: string): number | undefined
  close(): void
}

export function openRoots(): Roots {
  const opened = new Map<string, number | undefined>()
  return {
    find(path) {
      if (!opened.has(path)) opened.set(path, findRoot(path))
      return opened.get(path)
    },
    close() {
      for (const descriptor of opened.values()) if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

export function removePlaceholder(entry: JournalEntry, roots: Roots, options: { readonly sameBoot: boolean }): Removal {
  const root = roots.find(entry.root)
  if (root === undefined) return 'gone'
  return inParent(root, entry.name, (parent, component) => removeAt(parent, component, entry, options)) ?? 'gone'
}

function removeAt(
  parent: number,
  component: string,
  entry: JournalEntry,
  options: { readonly sameBoot: boolean },
): Removal {
  const found = findEntry(parent, component)
  const isOurs = found !== undefined && isSame(entry, found, options)
  // A directory has one name, and so has a file with one link: the temporary one is gone then.
  if (!isOurs || !(found.isDirectory() || found.nlink === 1n)) removeTemporary(parent, entry)
  if (found === undefined) return 'gone'
  // Without an inode on record it never got this name: whatever is here, we did not put it.
  if (!isOurs) return 'is something else'
  // A directory that is not empty refuses to go.
  if (!found.isDirectory() && !isUntouched(parent, component, found, entry.content)) return 'has content'
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
