// What the operating system said about a run's directory, in the one error class. Its own text names host paths, so it
// goes to the operator alone.
import { GloveboxError } from '../errors/error.ts'
import type { ErrorCode } from '../errors/table.ts'
import { isErrno } from '../paths/refusal.ts'

const known: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOSPC: ['NO_SPACE', 'no space is left'],
  EDQUOT: ['NO_SPACE', 'the disk quota is used up'],
  EROFS: ['DISK_READ_ONLY', 'the filesystem is read-only'],
  EACCES: ['NOT_PERMITTED', 'the file permissions do not allow it'],
  EPERM: ['NOT_PERMITTED', 'the operating system does not allow it'],
  ENOENT: ['NOT_FOUND', 'nothing is there'],
  EEXIST: ['ALREADY_EXISTS', 'something is already there'],
  ENOTEMPTY: ['ALREADY_EXISTS', 'something is already there'],
  ENOTDIR: ['NOT_A_DIRECTORY', 'a part of the path is not a directory'],
  ELOOP: ['LINK_REFUSED', 'the path leads through a circle of links'],
  ENAMETOOLONG: ['INVALID_PATH', 'a name in the path is too long'],
  EMFILE: ['BUSY', 'too many files are open'],
  ENFILE: ['BUSY', 'too many files are open'],
}

export type Hints = Partial<Readonly<Record<ErrorCode, string>>>

/** `what` completes the sentence "Cannot …". Errors that are ours, or that are no system error, pass unchanged. */
export function asStorageError(error: unknown, what: string, hints: Hints = {}): unknown {
  if (!isErrno(error)) return error
  const [code, cause] = known[error.code] ?? (['INTERNAL', 'the operating system reported a fault'] as const)
  const hint = hints[code]
  return new GloveboxError(code, `Cannot ${what}: ${cause}`, {
    ...(hint === undefined ? {} : { hint }),
    operatorDetail: error.message,
    cause: error,
  })
}

export const isNoSpace = (error: unknown): boolean =>
  isErrno(error, 'ENOSPC', 'EDQUOT') || (error instanceof GloveboxError && error.code === 'NO_SPACE')
