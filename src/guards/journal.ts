// What each sandbox has put on the host, written down before it is put there, so that the next start can take away
// what a killed process left. One file per sandbox. Replaced whole: temporary name, then rename.
// Promises that a journal is read as it was written or reported as unreadable; never guessed at.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSandboxId, type SandboxId } from '../contract/ids.ts'
import { GloveboxError } from '../errors/error.ts'
import type { ProcessIdentity } from '../process/identity.ts'
import { parseJournal } from './journal-schema.ts'
import { withLock } from './lock.ts'
import { namesIfThere } from '../paths/if-there.ts'
import { hasCode } from './placing/codes.ts'

export interface JournalEntry {
  /** Host path of the mount root. */
  readonly root: string
  /** Below the root; the first component that was missing, with what leads to it. */
  readonly name: string
  readonly kind: 'file' | 'directory'
  /** What it holds. Absent: nothing. */
  readonly content?: string
  /** The unique name, in the same directory, under which it is made before it gets its own. Absent when shared. */
  readonly temporary?: string
  /** Set once it exists. As text, since both are 64 bits wide. */
  readonly device?: string
  readonly inode?: string
  /** In nanoseconds since 1970. Numbers of files that are gone are given out again. Absent: the file system does not tell. */
  readonly born?: string
}

export interface Journal {
  readonly sandboxId: SandboxId
  readonly owner: ProcessIdentity
  readonly entries: readonly JournalEntry[]
  /** Directories of the sandbox's control group. */
  readonly limitGroup?: readonly string[]
}

export interface JournalListing {
  readonly journals: readonly Journal[]
  /** File names that could not be understood. */
  readonly unreadable: readonly string[]
}

const directoryOf = (stateDir: string): string => `${stateDir}/placeholders`

/** Two processes, or two sandboxes of one, must not race between creating and removing: all changes happen in here. */
export function underLock<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(directoryOf(stateDir), { recursive: true, mode: 0o700 })
  return withLock({ directory: join(stateDir, 'locks'), name: 'placeholders.lock' }, work)
}

/** Survives the end of this process at any moment; not waited for on disk. A power cut may leave empty stand-ins behind, which
 * costs less than a wait for the disk at every start would. At once and not through the pool of threads: it is a few hundred bytes. */
export function writeJournal(stateDir: string, journal: Journal): void {
  const path = pathOf(stateDir, journal.sandboxId)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    writeFileSync(temporary, JSON.stringify(journal), { flag: 'wx', mode: 0o600 })
    renameSync(temporary, path)
  } catch (error) {
    // It would keep the very room that was missing.
    rmSync(temporary, { force: true })
    throw error
  }
}

export function findJournal(stateDir: string, sandboxId: SandboxId): Journal | undefined {
  const path = pathOf(stateDir, sandboxId)
  // The usual case, and an error costs ten times what a look does.
  if (!existsSync(path)) return undefined
  try {
    return parseJournal(readFileSync(path, 'utf8'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Also true of one that was being written when its process was killed. */
export const hasJournals = (stateDir: string): boolean =>
  namesIfThere(directoryOf(stateDir)).some((name) => name.includes('.json'))

export function listJournals(stateDir: string): JournalListing {
  const journals: Journal[] = []
  const unreadable: string[] = []
  for (const name of namesIfThere(directoryOf(stateDir))) {
    const id = name.replace(/\.json$/, '')
    if (id === name || !isSandboxId(id)) continue
    try {
      const journal = findJournal(stateDir, id)
      if (journal !== undefined) journals.push(journal)
    } catch {
      unreadable.push(name)
    }
  }
  return { journals, unreadable }
}

/** Half-written journals of processes that were killed. Under the lock nobody is writing one. */
export function removeTornJournals(stateDir: string): void {
  const directory = directoryOf(stateDir)
  for (const name of namesIfThere(directory)) if (name.endsWith('.tmp')) unlinkSync(join(directory, name))
}

/** Writes what is left of a journal, or removes it when nothing is. */
export function settleJournal(stateDir: string, journal: Journal): void {
  if (journal.entries.length > 0 || journal.limitGroup !== undefined) {
    writeJournal(stateDir, journal)
    return
  }
  try {
    unlinkSync(pathOf(stateDir, journal.sandboxId))
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

function pathOf(stateDir: string, sandboxId: string): string {
  if (isSandboxId(sandboxId)) return `${directoryOf(stateDir)}/${sandboxId}.json`
  throw new GloveboxError('INTERNAL', 'Cannot open a journal: that is not the id of a sandbox')
}
