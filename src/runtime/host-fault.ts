// Faults of the operator's machine that can meet a sandbox anywhere while it is made or used: told as what they are, with
// what mends them. Anything else is passed on as it is.
import { GloveboxError } from '../errors/error.ts'
import type { ErrorCode } from '../errors/table.ts'

interface Fault {
  readonly code: ErrorCode
  readonly cause: string
  readonly hint: string
}

const full: Fault = {
  code: 'NO_SPACE',
  cause: 'the disk that holds its state is full',
  hint: 'Free space there, or set GLOVEBOX_STATE_DIR to a directory on another disk.',
}
const descriptors: Fault = {
  code: 'BUSY',
  cause: 'too many files are open',
  hint: 'Raise the limit (ulimit -n) of the process that uses Glovebox, or end sandboxes that are no longer needed.',
}
const unwritable: Fault = {
  code: 'NOT_PERMITTED',
  cause: 'the directory that holds its state cannot be written',
  hint: 'Set GLOVEBOX_STATE_DIR to a directory that you can write.',
}

const faults: Readonly<Record<string, Fault>> = {
  ENOSPC: full,
  EDQUOT: full,
  EMFILE: descriptors,
  ENFILE: descriptors,
  EROFS: unwritable,
  EACCES: unwritable,
}

/** `doing` is what failed, as in "make the sandbox". */
export function asHostFault(error: unknown, doing: string): unknown {
  if (error instanceof GloveboxError || !(error instanceof Error) || !('code' in error)) return error
  const fault = faults[String(error.code)]
  if (fault === undefined) return error
  return new GloveboxError(fault.code, `Cannot ${doing}: ${fault.cause}`, {
    hint: fault.hint,
    operatorDetail: error.message,
    cause: error,
  })
}
