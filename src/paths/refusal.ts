// Turns what went wrong into the one error class. The kernel's own text names paths of the host, so it
// goes to the operator alone; the agent reads the guest path that it asked for.
import { GloveboxError, isGloveboxError, type ErrorDetails } from '../errors/error.ts'
import type { ErrorCode } from '../errors/table.ts'
import type { GuestPath } from '../contract/mount.ts'

export interface Errno extends Error {
  readonly code: string
  readonly syscall: string
}

export const isErrno = (error: unknown, ...codes: string[]): error is Errno =>
  error instanceof Error &&
  'code' in error &&
  'syscall' in error &&
  typeof error.code === 'string' &&
  (codes.length === 0 || codes.includes(error.code))

/** Names may hold any byte but NUL and `/`; a line break in one must not forge a line of a log. */
export const shownPath = (path: GuestPath): string =>
  path.replaceAll(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)

export interface Question {
  /** The verb of the message: `read`, `write`, `rename`. */
  readonly verb: string
  /** The path as it was asked for. */
  readonly path: GuestPath
}

export const refusal = (code: ErrorCode, asked: Question, cause: string, details?: ErrorDetails): GloveboxError =>
  new GloveboxError(code, `Cannot ${asked.verb} ${shownPath(asked.path)}: ${cause}`, details)

const byErrno: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['NOT_FOUND', 'nothing is there'],
  EEXIST: ['ALREADY_EXISTS', 'something is already there'],
  ENOTDIR: ['NOT_A_DIRECTORY', 'a part of the path is not a directory'],
  EISDIR: ['IS_A_DIRECTORY', 'it is a directory'],
  ENOTEMPTY: ['NOT_EMPTY', 'the directory is not empty'],
  EACCES: ['NOT_PERMITTED', 'the file permissions do not allow it'],
  EPERM: ['NOT_PERMITTED', 'the operating system does not allow it'],
  EROFS: ['READ_ONLY', 'the filesystem is read-only'],
  ENOSPC: ['NO_SPACE', 'no space is left'],
  EDQUOT: ['NO_SPACE', 'the disk quota is used up'],
  EFBIG: ['TOO_LARGE', 'the file would be too large'],
  ENAMETOOLONG: ['INVALID_PATH', 'a name in it is too long'],
  EILSEQ: ['INVALID_PATH', 'the filesystem does not take such a name'],
  ELOOP: ['LINK_REFUSED', 'it leads through a link'],
  // An open that must not wait meets a lease that somebody holds on the file.
  EAGAIN: ['BUSY', 'something holds a lease on the file'],
  EBUSY: ['BUSY', 'it is in use'],
  ETXTBSY: ['BUSY', 'it is being executed'],
  EMFILE: ['BUSY', 'too many files are open'],
  ENFILE: ['BUSY', 'too many files are open'],
  EXDEV: ['INVALID_INPUT', 'the two paths are on different filesystems'],
  EINVAL: ['INVALID_INPUT', 'the operation makes no sense for this path'],
  ENXIO: ['NOT_A_FILE', 'it is not a regular file'],
  ENODEV: ['NOT_A_FILE', 'it is not a regular file'],
}

/** Ours pass unchanged, and so does what is no system error (a callback's own fault, for example). */
export function asRefusal(error: unknown, asked: Question): unknown {
  if (isGloveboxError(error) || !isErrno(error)) return error
  const [code, cause] = byErrno[error.code] ?? (['INTERNAL', 'the operating system reported a fault'] as const)
  return refusal(code, asked, cause, { operatorDetail: `${error.syscall}: ${error.message}` })
}
