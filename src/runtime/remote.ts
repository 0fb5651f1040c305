// Which server the command line speaks to, if any, and with which token. A token is never a flag: whoever looks at the list of
// processes reads those.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { GloveboxError } from '../errors/error.ts'

export interface RemoteFlags {
  readonly server?: string
  readonly tokenFile?: string
}

export interface Remote {
  readonly url: string
  readonly token: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Where the work is to be done: `--server`, else GLOVEBOX_SERVER, else here. */
export const serverAsked = ({ server }: RemoteFlags, environment: Environment = process.env): string | undefined =>
  server ?? (environment['GLOVEBOX_SERVER'] || undefined)

export function remoteFrom(
  flags: RemoteFlags,
  directory: string,
  environment: Environment = process.env,
): Remote | undefined {
  const url = serverAsked(flags, environment)
  return url === undefined ? undefined : { url, token: tokenFrom(flags, directory, environment) }
}

function tokenFrom({ tokenFile }: RemoteFlags, directory: string, environment: Environment): string {
  if (tokenFile !== undefined) return readToken(resolve(directory, tokenFile))
  const token = environment['GLOVEBOX_TOKEN']
  if (token !== undefined && token !== '') return token
  const named = environment['GLOVEBOX_TOKEN_FILE']
  if (named !== undefined && named !== '') return readToken(resolve(directory, named))
  throw new GloveboxError('UNAUTHENTICATED', 'Cannot use the server: there is no token', {
    hint: 'Set GLOVEBOX_TOKEN, or name a file with --token-file. `glovebox token create` makes a token.',
  })
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new GloveboxError('UNAUTHENTICATED', 'Cannot use the server: the file with the token cannot be read', {
      hint: 'Check --token-file or GLOVEBOX_TOKEN_FILE.',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}
