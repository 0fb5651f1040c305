// The files themselves. What changes with each command lies in one of two directories, which are filled in turn; a link leads to the
// one that was filled last. So a reader finds all files of one moment, each complete. Renaming over a file would say that of each
// alone, and ext4 then writes it to the disk at once; and it takes its time to remove a directory, so none is.
// Writings are put off until a moment after the first change, and are never closer together than a fraction of a second, so that
// a busy sandbox pays for a few of them and not for one with each command.
import {
  chmodSync,
  closeSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { nowMs } from './clock.ts'

export type Content = object | string | Uint8Array
export type Page = readonly [name: string, content: Content]

export interface Pages {
  /** At once. An object becomes JSON with a stamp; text and bytes stay as they are. */
  put(name: string, content: Content): void
  /** Something has changed. `soon`: it is written in a moment; `late`: if nothing else comes, a good while later. */
  touch(when: 'soon' | 'late'): void
  /** Now, if anything is outstanding. */
  settle(): void
  /** What the JSON pages say at this moment, by name. */
  read(): ReadonlyMap<string, object>
  close(): void
}

export interface PageOptions {
  readonly directory: string
  /** The pages that change, as they are to be at this moment. */
  readonly draw: () => readonly Page[]
}

/** The link, and where it leads in turn. */
const newest = 'now'
const slots = ['.1', '.2'] as const
const draft = '.draft'
const soonMs = 15
const apartMs = 250

export function openPages({ directory, draw }: PageOptions): Pages {
  const fixed = new Map<string, { readonly content: Content; readonly revision: number }>()
  let revision = 1
  let timer: NodeJS.Timeout | undefined
  let isOutstanding = false
  let isClosed = false
  let writtenAt = -apartMs
  let current: 0 | 1 = 0
  let dueAt = Number.POSITIVE_INFINITY
  // Written with each change, and all of it ours: nothing is there to be made regular.
  const at = (...names: readonly string[]): string => [directory, ...names].join('/')
  makeOpen(directory)
  // An earlier opening may have left its own.
  for (const left of readdirSync(directory)) rmSync(at(left), { recursive: true, force: true })
  for (const slot of slots) makeOpen(at(slot))

  const filled = new Map<string, string | Uint8Array>()
  const isKnown = (slot: string, name: string, content: Content): boolean => {
    const [key, body] = [`${slot}/${name}`, bodyOf(content)]
    const isSame = sameBytes(filled.get(key), body)
    filled.set(key, body)
    return isSame
  }
  const publish = (): void => {
    revision += 1
    current = current === 0 ? 1 : 0
    const slot = slots[current]
    for (const [name, content] of draw()) {
      if (isKnown(slot, name, content)) continue
      // Whoever is still reading the one before has it open, or comes too late; nobody sees half of the new one.
      writeOpen(at(slot, draft), textOf(content, revision))
      removeIfThere(at(slot, name))
      renameSync(at(slot, draft), at(slot, name))
    }
    removeIfThere(at(draft))
    symlinkSync(slot, at(draft))
    renameSync(at(draft), at(newest))
  }
  const write = (): void => {
    clearTimeout(timer)
    dueAt = Number.POSITIVE_INFINITY
    isOutstanding = false
    try {
      publish()
    } catch {
      filled.clear()
      // A full disk must not end a command that has nothing to do with it. With the next change it is tried again.
    }
    writtenAt = nowMs()
  }

  return {
    put(name, content) {
      const isThere = fixed.has(name)
      if (isThere) revision += 1
      writeOpen(at(isThere ? draft : name), textOf(content, revision))
      if (isThere) renameSync(at(draft), at(name))
      fixed.set(name, { content, revision })
    },
    touch(when) {
      isOutstanding = true
      const now = nowMs()
      const due = Math.max(now + (when === 'soon' ? soonMs : apartMs), writtenAt + apartMs)
      if (isClosed || due >= dueAt) return
      clearTimeout(timer)
      dueAt = due
      timer = setTimeout(write, due - now)
      // A process that has nothing else to do ends, and the sandbox with it.
      timer.unref()
    },
    settle() {
      if (isOutstanding && !isClosed) write()
    },
    read() {
      const now = draw().map(([name, content]) => [name, { content, revision }] as const)
      const pages = [...fixed, ...now].filter(([, { content }]) => isJson(content))
      return new Map(pages.map(([name, page]) => [name, stamped(page.content as object, page.revision)]))
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

// The guest may be another id than the writer, whose mask need not let others read.
function makeOpen(directory: string): void {
  mkdirSync(directory, { recursive: true })
  chmodSync(directory, 0o755)
}

function writeOpen(file: string, content: string | Uint8Array): void {
  const descriptor = openSync(file, 'w')
  try {
    writeFileSync(descriptor, content)
    fchmodSync(descriptor, 0o644)
  } finally {
    closeSync(descriptor)
  }
}

function removeIfThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

const isJson = (content: Content): boolean => typeof content === 'object' && !(content instanceof Uint8Array)

const stamped = (content: object, revision: number): object => ({ catalogVersion: 1, revision, ...content })

const bodyOf = (content: Content): string | Uint8Array =>
  typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content)

function sameBytes(one: string | Uint8Array | undefined, other: string | Uint8Array): boolean {
  if (typeof one === 'string' || typeof other === 'string' || one === undefined) return one === other
  return one === other || Buffer.compare(one, other) === 0
}

/** An agent reads these with cat, so they are laid out for reading. */
function textOf(content: Content, revision: number): string | Uint8Array {
  if (typeof content === 'string' || content instanceof Uint8Array) return content
  return `${JSON.stringify(stamped(content, revision), null, 2)}\n`
}
