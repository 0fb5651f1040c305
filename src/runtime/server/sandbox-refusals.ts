// Why a server refuses what is asked of its sandboxes.
import { GloveboxError } from '../../errors/error.ts'

/** As the routes tell it: a client must be able to tell a sandbox that is gone from a file that is not there. */
export const gone = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot find the sandbox: there is none with that name', {
    facts: { what: 'sandbox' },
  })

export const stopping = (): GloveboxError =>
  new GloveboxError('DRAINING', 'Cannot create the sandbox: the server is about to stop', {
    facts: { retryAfterSeconds: 1 },
  })
