// Everything that keeps a record from being written ends as one code, so that callers can fail closed with one check.
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { isNoSpace } from '../paths/kept-space.ts'
import { isErrno } from '../paths/refusal.ts'

export function unavailable(cause: string, operatorDetail?: string): GloveboxError {
  return new GloveboxError('AUDIT_UNAVAILABLE', `Cannot write the audit log: ${cause}`, {
    hint: 'Nothing is done without its record. The operator can run: glovebox audit verify',
    ...(operatorDetail === undefined ? {} : { operatorDetail }),
  })
}

/** Ours pass unchanged. The kernel's words name paths of the host, so they are the operator's alone. */
export function asUnavailable(error: unknown): unknown {
  if (isGloveboxError(error) || !isErrno(error)) return error
  const cause = isNoSpace(error) ? 'no space is left' : 'the operating system refused it'
  return unavailable(cause, `${error.syscall}: ${error.message}`)
}

export const busy = (): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot write the audit log: another process holds it', { hint: 'Try again in a moment.' })
