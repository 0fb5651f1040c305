// Where an overlay was tried, and what came of it. A try takes a thread and several processes, and its outcome does not change
// before the host is started anew; so it is kept in the state home, for each file system. A note that cannot be read is no note.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { ownIdentity } from '../../process/identity.ts'
import { replaceFile } from '../../runs/replace-file.ts'

/** Null: it works. Else why not. */
export type Outcome = string | null

const file = (stateDir: HostPath): string => join(stateDir, 'overlay-tries.json')
const mostNotes = 50

export interface Place {
  readonly backend: string
  readonly device: number
}

export async function triedOnce(
  stateDir: HostPath,
  { backend, device }: Place,
  attempt: () => Promise<Outcome>,
): Promise<Outcome> {
  const notes = readNotes(stateDir)
  const key = `${ownIdentity().bootId} ${process.geteuid?.()} ${backend} ${device}`
  const known = notes[key]
  // Only a success is believed: what went wrong may have been mended since.
  if (known === null) return null
  const outcome = await attempt()
  if (outcome !== null) return outcome
  const kept = Object.entries({ ...notes, [key]: null }).slice(-mostNotes)
  await replaceFile(file(stateDir), `${JSON.stringify(Object.fromEntries(kept))}\n`, { mode: 0o600 })
  return null
}

function readNotes(stateDir: HostPath): Record<string, null> {
  try {
    const value: unknown = JSON.parse(readFileSync(file(stateDir), 'utf8'))
    if (typeof value !== 'object' || value === null) return {}
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, null] => entry[1] === null))
  } catch {
    return {}
  }
}
