// Guest paths as text: the only maker of the type GuestPath. A guest path is absolute, normalised and
// says nothing about the host; what it leads to is found by the walk in contain.ts, never by this text alone.
import { GloveboxError } from '../errors/error.ts'
import type { GuestPath } from '../contract/mount.ts'

// Linux refuses longer ones itself (PATH_MAX counts the final NUL). Refusing here keeps the work bounded.
const maxPathBytes = 4095
const maxNameBytes = 255

const invalid = (cause: string): GloveboxError =>
  new GloveboxError('INVALID_PATH', `Cannot use the path: ${cause}`, {
    hint: 'Give an absolute path such as /workspace/file.txt, or one relative to the working directory.',
  })

/** Absolute text stands alone; relative text joins `cwd`. `..` above `/` stays at `/`, as in the kernel. */
export function parseGuestPath(text: string, cwd?: GuestPath): GuestPath {
  checkText(text)
  if (!text.startsWith('/') && cwd === undefined) throw invalid('it is not absolute')
  const names: string[] = []
  for (const name of (text.startsWith('/') ? text : `${cwd}/${text}`).split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  for (const name of names) if (Buffer.byteLength(name) > maxNameBytes) throw invalid('a name in it is too long')
  const path = fromSegments(names)
  if (Buffer.byteLength(path) > maxPathBytes) throw invalid('it is too long')
  return path
}

function checkText(text: string): void {
  if (text === '') throw invalid('it is empty')
  // SECURITY: a NUL ends the name for the kernel but not for a check. test/attacks/host-paths: "a NUL in a path is refused"
  if (text.includes('\0')) throw invalid('it contains a NUL byte')
  const bytes = Buffer.byteLength(text)
  // A lone surrogate becomes U+FFFD on its way to the kernel, so the text would not be the name that is opened. Text of single bytes
  // has none, and the pattern takes long to compile.
  if (bytes !== text.length && /\p{Surrogate}/u.test(text)) throw invalid('it is not well-formed Unicode')
  if (bytes > maxPathBytes) throw invalid('it is too long')
}

/** Is `path` at or below `root`? Compared by whole names: `/mnt/skills-extra` is not within `/mnt/skills`. */
export const isWithin = (path: GuestPath, root: GuestPath): boolean =>
  root === '/' || path === root || path.startsWith(`${root}/`)

export const guestJoin = (root: GuestPath, ...names: string[]): GuestPath =>
  names.length === 0 ? root : parseGuestPath(names.join('/').replace(/^\/+/, './'), root)

export const segmentsOf = (path: GuestPath): readonly string[] => (path === '/' ? [] : path.slice(1).split('/'))

/** Of names that are already normal; for text from outside use `parseGuestPath`. */
export const fromSegments = (names: readonly string[]): GuestPath => `/${names.join('/')}` as GuestPath
