// Whether the file that was opened is still the one in its place. Somebody may put it aside, replace it or take it away while it is open,
// and its descriptors lead to it all the same: what is written there then is lost to everybody who opens the database afterwards.
import { statSync } from 'node:fs'
import { unavailable } from '../fault.ts'

/** To be called before anything is read or written, and once more before a write is answered for. */
export type RefuseReplaced = () => void

/** Right after it was opened. */
export function watchPlace(path: string): RefuseReplaced {
  const identify = (): string | undefined => {
    const seen = statSync(path, { bigint: true, throwIfNoEntry: false })
    return seen === undefined ? undefined : `${seen.dev}:${seen.ino}`
  }
  const first = identify()
  return () => {
    if (first === undefined || identify() !== first) throw replaced()
  }
}

const replaced = (): Error =>
  unavailable('its file was put aside, replaced or taken away while it was open', {
    hint: 'The operator must start the server again: it opens what lies in its place now.',
  })
