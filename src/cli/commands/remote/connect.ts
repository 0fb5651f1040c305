// The server that was asked for, and what of the command's own words means nothing there.
import { connect, type Glovebox } from '../../../client/index.ts'
import { GloveboxError } from '../../../errors/error.ts'
import { remoteFrom, type RemoteFlags } from '../../../runtime/remote.ts'
import { quoted } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { refuseGiven } from '../../refuse.ts'

/** A person waits: an address at which nobody answers is told within about a second. */
const retry = { retries: 2 }

export function connectTo(flags: RemoteFlags, { directory }: Doing): Glovebox {
  const remote = remoteFrom(flags, directory)
  if (remote === undefined) throw new GloveboxError('INTERNAL', 'Cannot use the server: none was asked for.')
  return connect({ ...remote, retry })
}

/** With which a command that is printed asks the same server again, after a space each; nothing where the environment names it. */
export function sameServer({ server, tokenFile }: RemoteFlags): string {
  const words = [
    ...(server === undefined ? [] : ['--server', server]),
    ...(tokenFile === undefined ? [] : ['--token-file', tokenFile]),
  ]
  return words.map((word) => ` ${quoted(word)}`).join('')
}

/** The command that comes back to a terminal of the server, or with a new one to its sandbox. */
export const wayBack = (
  flags: RemoteFlags,
  { sandboxId, shellId }: { readonly sandboxId: string; readonly shellId?: string },
): string =>
  `glovebox shell${sameServer(flags)} --sandbox ${sandboxId}${shellId === undefined ? '' : ` --attach ${shellId}`}`

/** SECURITY: a flag that a server would pass over could be one that the operator counts on; so none is passed over.
 * test/e2e/client-cli: "flags that mean nothing on a server are refused" */
export function refuseLocal(flags: object, names: readonly string[], cause = 'it speaks of this host'): void {
  refuseGiven(flags, names, {
    beside: 'with a server',
    cause,
    hint: 'Leave it out; or leave out --server, and unset GLOVEBOX_SERVER.',
  })
}
