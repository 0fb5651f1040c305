// Where Glovebox keeps what must outlive a process: journals, locks, homes without a project. One directory per operator,
// readable by nobody else, and never inside a mount.
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { makeDirectories } from '../paths/make-directories.ts'

export function stateHome(environment: Readonly<Record<string, string | undefined>> = process.env): HostPath {
  const chosen = environment['GLOVEBOX_STATE_DIR']
  const base = environment['XDG_STATE_HOME'] || join(homedir(), '.local', 'state')
  const path = (chosen === undefined || chosen === '' ? join(base, 'glovebox') : chosen) as HostPath
  try {
    makeDirectories(path, 0o700)
  } catch (error) {
    throw new GloveboxError('NOT_PERMITTED', 'Cannot keep state: its directory cannot be made', {
      hint: 'Set GLOVEBOX_STATE_DIR to a directory that you can write.',
      operatorDetail: `${path}: ${error instanceof Error ? error.message : String(error)}`,
    })
  }
  const seen = statSync(path)
  // SECURITY: journals name what the next start removes; whoever can write them decides what that is.
  // test/attacks/persistence: "a state directory that others can write is refused"
  if (seen.uid !== process.getuid?.() || (seen.mode & 0o022) !== 0)
    throw new GloveboxError(
      'NOT_PERMITTED',
      'Cannot keep state: its directory belongs to, or can be written by, somebody else',
      {
        hint: 'Set GLOVEBOX_STATE_DIR to a directory of your own.',
        operatorDetail: path,
      },
    )
  return path
}
