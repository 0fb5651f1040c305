// The files of a run's actions, below logs/actions/. They are class D2: in the kernel's hands before the answer, on disk
// within a second and before the end. A run may perform thousands of actions, so nothing here waits for the disk while
// one is answered. It knows names and bytes, and nothing of what an action is.
import { hash as digest } from 'node:crypto'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { actionDirectoryName } from '../contract/recorded-action.ts'
import { placeIn } from './layout.ts'
import { asStorageError } from './storage-error.ts'

const lazySyncMs = 1000

/** Bytes with their hash, so that nobody takes it twice. */
export interface Kept {
  readonly bytes: Uint8Array
  readonly sha256: string
}

export const keep = (bytes: Uint8Array): Kept => ({ bytes, sha256: digest('sha256', bytes) })

export interface ActionLog {
  /** Host path of the directory of one action. */
  place(number: number): string
  /** Makes the directory of an action with these files in it. */
  write(number: number, files: Readonly<Record<string, Kept>>): void
  /** Settles when everything written so far outlives a power cut. */
  sync(): Promise<void>
  close(): Promise<void>
}

export function openActionLog(directory: string): ActionLog {
  const root = join(placeIn(directory, 'logs'), 'actions')
  mkdirSync(root, { recursive: true })
  return new ActionFiles(root, placeIn(directory, 'logs'))
}

class ActionFiles implements ActionLog {
  readonly #root: string
  #unsynced: Set<string>
  #syncing: Promise<void> = Promise.resolve()
  #lazy: NodeJS.Timeout | undefined

  constructor(root: string, logs: string) {
    this.#root = root
    this.#unsynced = new Set([root, logs])
  }

  place(number: number): string {
    return join(this.#root, actionDirectoryName(number))
  }

  write(number: number, files: Readonly<Record<string, Kept>>): void {
    const directory = this.place(number)
    try {
      mkdirSync(directory)
      for (const [name, { bytes }] of Object.entries(files)) this.#writeNew(join(directory, name), bytes)
    } catch (error) {
      throw asStorageError(error, 'record the action')
    }
    this.#unsynced.add(directory).add(this.#root)
    this.#syncLater()
  }

  #writeNew(path: string, bytes: Uint8Array): void {
    const fd = openSync(path, 'wx', 0o644)
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
    } finally {
      closeSync(fd)
    }
    this.#unsynced.add(path)
  }

  sync(): Promise<void> {
    clearTimeout(this.#lazy)
    this.#lazy = undefined
    const paths = this.#unsynced
    this.#unsynced = new Set()
    // A sync that failed stays failed: the kernel may have dropped the pages, and would call the next one a success.
    this.#syncing = this.#syncing.then(() => syncAll(paths))
    return this.#syncing
  }

  #syncLater(): void {
    this.#lazy ??= setTimeout(() => {
      // Whoever closes the log is told.
      this.sync().catch(() => {})
    }, lazySyncMs).unref()
  }

  close(): Promise<void> {
    return this.sync()
  }
}

async function syncAll(paths: ReadonlySet<string>): Promise<void> {
  try {
    for (const path of paths) {
      const file = await open(path, 'r')
      try {
        await file.sync()
      } finally {
        await file.close()
      }
    }
  } catch (error) {
    throw asStorageError(error, 'make the records of the actions durable')
  }
}
