// Where shells that are held by a process of their own are found: a directory of the state home, with a socket and a note for each.
// The note tells which process holds it; where that is gone, so is the shell, and whoever looks next takes both away.
import { constants, mkdirSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import { closingOnce } from '../../process/closing-once.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import { stateHome } from '../state.ts'

export interface HeldNote {
  readonly id: string
  readonly sandbox: string
  readonly directory: string
  readonly openedAt: string
  readonly holder: ProcessIdentity
}

/** SECURITY: whoever can connect types into the sandbox; so the directory and all in it are the operator's alone.
 * test/attacks/terminals: "a shell that was left can be come back to by nobody else" */
function heldDirectory(): string {
  const directory = join(stateHome(), 'shells')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return directory
}

export interface SocketPlace {
  readonly path: string
  close(): void
}

/** The kernel takes no name of a socket beyond 107 bytes, however deep the directory lies; so it is named by its descriptor. */
export function openSocketPlace(id: string): SocketPlace {
  const directory = heldDirectory()
  if (process.platform !== 'linux') return { path: join(directory, `${id}.sock`), close: () => {} }
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${descriptor}/${id}.sock`, close: closingOnce(descriptor) }
}

const noteFile = (id: string): string => join(heldDirectory(), `${id}.json`)

export function writeNote(note: Omit<HeldNote, 'holder'>): void {
  writeFileSync(noteFile(note.id), JSON.stringify({ ...note, holder: ownIdentity() }), { mode: 0o600 })
}

export function removeNote(id: string): void {
  rmSync(noteFile(id), { force: true })
  rmSync(join(heldDirectory(), `${id}.sock`), { force: true })
}

/** A holder has opened its shell by then, or has been killed. */
const longestOpeningMs = 10 * 60_000

/** The oldest first. What killed ones have left is taken away. */
export function listHeld(): readonly HeldNote[] {
  const directory = heldDirectory()
  const names = readdirSync(directory)
  const ids = names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : []))
  for (const name of names) {
    if (!name.endsWith('.sock') || ids.includes(name.slice(0, -5))) continue
    const seen = statSync(join(directory, name), { throwIfNoEntry: false })
    if (seen !== undefined && Date.now() - seen.mtimeMs > longestOpeningMs) removeNote(name.slice(0, -5))
  }
  const notes = ids.flatMap((id) => {
    const note = readNote(id)
    if (note !== undefined && isAlive(note.holder)) return [note]
    removeNote(id)
    return []
  })
  return notes.toSorted((one, other) => (one.openedAt < other.openedAt ? -1 : 1))
}

function readNote(id: string): HeldNote | undefined {
  try {
    return JSON.parse(readFileSync(noteFile(id), 'utf8')) as HeldNote
  } catch {
    return undefined
  }
}

/** By its id, or by a beginning that only one has. */
export function findHeld(asked: string): HeldNote {
  const found = listHeld().filter(({ id }) => id.startsWith(asked))
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  throw new GloveboxError(
    found.length === 0 ? 'NOT_FOUND' : 'INVALID_INPUT',
    `Cannot find the shell ${asked}: ${found.length === 0 ? 'none of that name was left here' : 'several begin so'}`,
    { hint: '`glovebox shell --list` shows those that go on. One whose program has ended is gone.' },
  )
}
