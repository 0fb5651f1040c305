// The server that was asked for, and what of the command's own words means nothing there.
import { connect, type Glovebox } from '../../../client/index.ts'
import { GloveboxError } from '../../../errors/error.ts'
import { remoteFrom, type RemoteFlags } from '../../../runtime/remote.ts'
import type { Doing } from '../../program.ts'

/** A person waits: an address at which nobody answers is told within about a second. */
const retry = { retries: 2 }

export function connectTo(flags: RemoteFlags, { directory }: Doing): Glovebox {
  const remote = remoteFrom(flags, directory)
  if (remote === undefined) throw new GloveboxError('INTERNAL', 'Cannot use the server: none was asked for.')
  return connect({ ...remote, retry })
}

/** SECURITY: a flag that a server would pass over could be one that the operator counts on; so none is passed over.
 * test/e2e/client-cli: "flags that mean nothing on a server are refused" */
export function refuseLocal(flags: object, names: readonly string[]): void {
  const given = names.filter((name) => (flags as Readonly<Record<string, unknown>>)[nameOf(name)] !== undefined)
  if (given.length === 0) return
  throw new GloveboxError('INVALID_INPUT', `Cannot use ${given.join(', ')} with a server: it speaks of this host.`, {
    hint: 'Leave it out; or leave out --server, and unset GLOVEBOX_SERVER.',
  })
}

/** `--prompt-file` is `promptFile`. */
const nameOf = (flag: string): string =>
  flag.replace(/^--/, '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
