// The end of a shell of either kind.
import { GloveboxError } from '../errors/error.ts'
import type { Server } from './server.ts'

/** A shell that is gone has been closed. */
export const closeShell = (server: Server, path: string): Promise<void> =>
  server.json<void>({ method: 'DELETE', path, doing: 'close the shell' }).catch((error: unknown) => {
    if (!(error instanceof GloveboxError) || error.code !== 'NOT_FOUND') throw error
  })
