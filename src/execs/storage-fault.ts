// Faults of the disk below the workspace, told as what they are. Anything else is passed on as it is.
import { GloveboxError } from '../errors/error.ts'
import type { ErrorCode } from '../errors/table.ts'
import { isErrno } from '../paths/refusal.ts'

const faults: Readonly<Record<string, readonly [ErrorCode, string, string]>> = {
  ENOSPC: ['NO_SPACE', 'the disk of the workspace is full', 'Free space there.'],
  EDQUOT: ['NO_SPACE', 'the quota of the workspace is used up', 'Free space there.'],
  EROFS: ['DISK_READ_ONLY', 'the disk of the workspace is read-only', 'The operator must look at the disk.'],
  EMFILE: ['BUSY', 'too many files are open', 'Try again later.'],
  ENFILE: ['BUSY', 'too many files are open', 'Try again later.'],
}

export function asStorageFault(error: unknown, doing: string): unknown {
  if (error instanceof GloveboxError || !isErrno(error)) return error
  const [code, cause, hint] = faults[error.code] ?? []
  if (code === undefined) return error
  return new GloveboxError(code, `Cannot ${doing}: ${cause ?? ''}`, {
    ...(hint === undefined ? {} : { hint }),
    operatorDetail: error.message,
    cause: error,
  })
}

export const isFull = (error: unknown): boolean =>
  isErrno(error, 'ENOSPC', 'EDQUOT') || (error instanceof GloveboxError && error.code === 'NO_SPACE')
