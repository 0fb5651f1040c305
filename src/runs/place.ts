// The place that somebody named for a new run. It may be a mistake: a directory of another user, a link to nothing, a file on
// the way. Such a mistake is told as one, with what mends it, and not as a fault of Glovebox.
import { readdirSync } from 'node:fs'
import { isErrno } from '../paths/refusal.ts'
import { asStorageError, type Hints } from './storage-error.ts'

const elsewhere = 'Choose another directory for the run: --sandbox DIR on the command line.'

const hints: Hints = {
  NOT_PERMITTED: 'Choose a directory for the run that this user may write: --sandbox DIR on the command line.',
  DISK_READ_ONLY: elsewhere,
  NOT_FOUND: `A link on the way may lead nowhere. ${elsewhere}`,
  NOT_A_DIRECTORY: elsewhere,
  LINK_REFUSED: elsewhere,
  INVALID_PATH: elsewhere,
  NO_SPACE: 'Free space there, or choose a directory on another disk: --sandbox DIR on the command line.',
}

export const asPlaceError = (error: unknown): unknown => asStorageError(error, 'create the run', hints)

/** For what looks at the way to the place, or makes it. */
export function onTheWay<Value>(look: () => Value): Value {
  try {
    return look()
  } catch (error) {
    throw asPlaceError(isErrno(error, 'EEXIST') ? whyNoDirectory(error) : error)
  }
}

/** Making a directory tells only that something is there; reading it tells what: a file, or a link that leads nowhere. */
function whyNoDirectory(error: NodeJS.ErrnoException): unknown {
  try {
    readdirSync(error.path ?? '')
    return error
  } catch (why) {
    return why
  }
}
