// The way from a mount root to a protected name, by descriptor: the guest may swap any component at any time, so each
// is opened relative to the one before and never through a symlink. Calls are synchronous: they are few, and on the
// path of every start.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readFileSync,
  type BigIntStats,
} from 'node:fs'
import { GloveboxError } from '../../errors/error.ts'
import { hasCode } from './codes.ts'

const asDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

export type Located =
  /** Something is there. For a name below a plain file it is that file. */
  | { readonly at: 'present'; readonly maskedName: string; readonly kind: 'file' | 'directory' }
  | {
      readonly at: 'placeholder'
      readonly maskedName: string
      readonly kind: 'file' | 'directory'
      readonly content?: string
      readonly device: string
      readonly inode: string
      readonly born?: string
    }
  /** `parent` is an open descriptor: the root's own, or one that the caller closes. */
  | {
      readonly at: 'missing'
      readonly maskedName: string
      readonly kind: 'file' | 'directory'
      readonly content?: string
      readonly parent: number
      readonly component: string
      /** By the directory's identity: two mounts may show the same one. */
      readonly place: string
    }

export interface WalkOptions {
  readonly name: string
  /** What to make if the last component is missing, and what to put into it. */
  readonly kind: 'file' | 'directory'
  readonly content?: string | undefined
  /** Was this made by a sandbox, to stand for something missing? */
  isPlaceholder(found: BigIntStats): boolean
}

/** Where a walk begins. */
export interface Start {
  readonly descriptor: number
  readonly identity: string
}

export const startAt = (descriptor: number): Start => ({ descriptor, identity: identityOf(descriptor) })

function identityOf(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return `${dev}:${ino}`
}

export function locate(root: Start, options: WalkOptions): Located {
  const components = splitName(options.name)
  const opened: number[] = []
  try {
    for (const [index, component] of components.entries()) {
      const directory = opened.at(-1) ?? root.descriptor
      const step = { directory, component, maskedName: components.slice(0, index + 1).join('/') }
      const isLast = index === components.length - 1
      const located = look(step, { ...options, isLast, root })
      if (located !== undefined) return located
      opened.push(enter(step))
    }
    throw new GloveboxError('INTERNAL', 'Cannot protect a name: the walk had no end')
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

interface Step {
  readonly directory: number
  readonly component: string
  readonly maskedName: string
}

/** Undefined: a directory on the way, to be entered. */
function look(
  step: Step,
  options: WalkOptions & { readonly isLast: boolean; readonly root: Start },
): Located | undefined {
  const { directory, component, maskedName } = step
  const found = findEntry(directory, component)
  const content = options.isLast ? options.content : undefined
  const filled = content === undefined ? {} : { content }
  if (found === undefined) {
    // What leads to a protected name is held as a directory, as the guest would have to make one there.
    const kind = options.isLast ? options.kind : 'directory'
    return { at: 'missing', maskedName, kind, ...placeIn(directory, component, options.root), component, ...filled }
  }
  // SECURITY: a mount laid over a symlink lands where the symlink points, and the name itself stays open.
  // test/attacks/files: "a symlinked protected path is refused"
  if (found.isSymbolicLink()) throw symlinkRefused(maskedName)
  const kind = found.isDirectory() ? 'directory' : 'file'
  // Whose it is comes last: that is written in the journals of all sandboxes that live.
  if (isUntouched(directory, component, found, content) && options.isPlaceholder(found)) {
    const identity = { device: String(found.dev), inode: String(found.ino), ...bornIn(directory, found) }
    return { at: 'placeholder', maskedName, kind, ...identity, ...filled }
  }
  // A worktree's `.git` is a plain file: nothing can lie below it, so the file itself is what must not change.
  return options.isLast || kind === 'file' ? { at: 'present', maskedName, kind } : undefined
}

function enter({ directory, component, maskedName }: Step): number {
  try {
    return openSync(below(directory, component), asDirectory)
  } catch (error) {
    // It was a directory a moment ago, so somebody is swapping it.
    if (hasCode(error, 'ELOOP', 'ENOTDIR')) throw symlinkRefused(maskedName)
    throw error
  }
}

/** Most names lie in the root itself, which is open for as long as anybody looks at it. */
function placeIn(
  directory: number,
  component: string,
  root: Start,
): { readonly parent: number; readonly place: string } {
  const isRoot = directory === root.descriptor
  const identity = isRoot ? root.identity : identityOf(directory)
  return { parent: isRoot ? directory : openAgain(directory), place: `${identity}/${component}` }
}

/** A second descriptor of the same directory, for somebody else to close. */
const openAgain = (directory: number): number =>
  openSync(`/proc/self/fd/${directory}`, constants.O_RDONLY | constants.O_DIRECTORY)

/** Opens the directories that lead to a name; undefined when the way there is gone or leads through something else. */
export function inParent<T>(root: number, name: string, work: (parent: number, component: string) => T): T | undefined {
  const components = splitName(name)
  const component = components.pop() as string
  const opened: number[] = []
  try {
    for (const each of components) opened.push(openSync(below(opened.at(-1) ?? root, each), asDirectory))
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
  try {
    return work(opened.at(-1) ?? root, component)
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

export const below = (directory: number, component: string): string => `/proc/self/fd/${directory}/${component}`

/**
 * When what lies in the directory came to be. A host that cannot tell gives the time of the last change instead, which would take a
 * placeholder for something else once it has its name; of a directory that has changed since it was made the two differ.
 */
export function bornIn(directory: number, { birthtimeNs }: BigIntStats): { readonly born?: string } {
  const holder = fstatSync(directory, { bigint: true })
  const tells = birthtimeNs > 0n && holder.birthtimeNs !== holder.ctimeNs
  return tells ? { born: String(birthtimeNs) } : {}
}

/** The entry itself, never what a symlink points to. */
export function findEntry(directory: number, component: string): BigIntStats | undefined {
  return lstatSync(below(directory, component), { bigint: true, throwIfNoEntry: false })
}

/** Does it hold just what was put there? Anything more is the user's. */
export function isUntouched(directory: number, component: string, found: BigIntStats, content = ''): boolean {
  if (!found.isDirectory()) return found.isFile() && holds(directory, component, found, content)
  // A third name of a directory is the `..` of one that lies in it; a file system that counts none tells one name or two.
  return found.nlink <= 2n && isEmpty(below(directory, component))
}

/** Of one that has many entries, one tells enough. */
function isEmpty(path: string): boolean {
  const directory = opendirSync(path, { bufferSize: 1 })
  try {
    return directory.readSync() === null
  } finally {
    directory.closeSync()
  }
}

function holds(directory: number, component: string, found: BigIntStats, content: string): boolean {
  if (found.size !== BigInt(Buffer.byteLength(content))) return false
  if (content === '') return true
  const file = openSync(below(directory, component), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return readFileSync(file, 'utf8') === content
  } finally {
    closeSync(file)
  }
}

export function openRoot(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
}

function symlinkRefused(name: string): GloveboxError {
  return new GloveboxError('PROTECTED', `Cannot protect ${name}: it is a symbolic link, and a link cannot be held`, {
    hint: `replace ${name} by a real file or directory, or let the operator give up its protection (policy.unprotect)`,
    facts: { name },
  })
}

function splitName(name: string): string[] {
  const components = name.split('/').filter((each) => each !== '' && each !== '.')
  if (components.length > 0 && !components.includes('..') && !name.startsWith('/') && !name.includes('\0')) {
    return components
  }
  throw new GloveboxError('INVALID_INPUT', 'Cannot protect a name: it must be a relative path without ".."', {
    facts: { name },
  })
}
