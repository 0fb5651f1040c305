// Directories that belong to a process and are worth nothing without it. Each names its owner, so that the next start can
// remove those of processes that were killed.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, ownIdentity, type ProcessIdentity } from './identity.ts'

const ownerFile = '.owner.json'

export function openScratch(parent: string, name: string): string {
  const directory = join(parent, name)
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  writeFileSync(join(directory, ownerFile), JSON.stringify(ownIdentity()), { mode: 0o600 })
  return directory
}

export const closeScratch = (directory: string): void => rmSync(directory, { recursive: true, force: true })

/** One without a readable owner was being made or removed when its process was killed, or is being made now: it is left
 * until it is old enough for only the former to be possible. */
export function sweepScratch(
  parent: string,
  { unownedAfterMs = 3_600_000 }: { readonly unownedAfterMs?: number } = {},
): void {
  for (const entry of listQuietly(parent)) {
    const directory = join(parent, entry)
    const owner = readOwner(directory)
    if (owner === undefined ? ageOf(directory) > unownedAfterMs : !isAlive(owner)) closeScratch(directory)
  }
}

function listQuietly(parent: string): readonly string[] {
  try {
    return readdirSync(parent)
  } catch {
    return []
  }
}

function readOwner(directory: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, ownerFile), 'utf8')) as ProcessIdentity
  } catch {
    return undefined
  }
}

const ageOf = (directory: string): number =>
  Date.now() - (statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
