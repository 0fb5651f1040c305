// The files that came with a request, from its acceptance to its start. They wait in the exec's own directory and are put in their places
// when the exec begins: a request that is refused in the end, because another server was quicker with its key or the database went away,
// has changed nothing that others read.
import { closeSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { GuestPath } from '../contract/mount.ts'
import { inside, openRoot, type Opened } from '../paths/descriptor.ts'
import { makeDirectories } from '../paths/directories.ts'
import { ownerLike } from '../paths/owner.ts'
import { asRefusal, isErrno, type Question } from '../paths/refusal.ts'
import { lookAlong, writeInputs, type CheckedInput } from './inputs.ts'
import { execPlace, guestInputs, inputsPlace, type ExecName } from './layout.ts'

const waitingPlace = (root: string, name: ExecName): string => join(execPlace(root, name), '.inputs')

/** They could be put in their places now. Whatever happens to those places until then is looked at again. */
export async function keepInputs(root: string, name: ExecName, inputs: readonly CheckedInput[]): Promise<void> {
  if (inputs.length === 0) return
  const places = openRoot(inputsPlace(root, name.project_id))
  try {
    for (const input of inputs) lookAlong(places, input)
  } finally {
    closeSync(places.fd)
  }
  mkdirSync(waitingPlace(root, name), { mode: 0o700 })
  await writeInputs(waitingPlace(root, name), inputs)
}

/** Each is there whole or not at all. Done by halves, because the server died, it goes on with what still waits. */
export async function placeInputs(root: string, name: ExecName): Promise<void> {
  const waiting = waitingPlace(root, name)
  if (!existsSync(waiting)) return
  const places = openRoot(inputsPlace(root, name.project_id))
  try {
    for await (const names of filesBelow(waiting)) await placeOne(places, join(waiting, ...names), names)
  } finally {
    closeSync(places.fd)
  }
  forgetInputs(root, name)
}

export const forgetInputs = (root: string, name: ExecName): void =>
  rmSync(waitingPlace(root, name), { recursive: true, force: true })

type Names = readonly [string, ...string[]]

async function placeOne(places: Opened, from: string, names: Names): Promise<void> {
  const path = names.join('/')
  lookAlong(places, { names, path })
  const asked: Question = { verb: 'write', path: `${guestInputs}/${path}` as GuestPath }
  try {
    const { directory } = await makeDirectories(places, names.slice(0, -1), { owner: ownerLike(places.stats), asked })
    try {
      // SECURITY: rename acts on the name and never through it. test/attacks/execs: "an input reaches nothing outside of inputs/"
      renameSync(from, inside(directory.fd, names.at(-1) ?? ''))
    } finally {
      if (directory !== places) closeSync(directory.fd)
    }
  } catch (error) {
    // Somebody else who was given the exec has just put it there.
    if (isErrno(error, 'ENOENT') && !existsSync(from)) return
    throw asRefusal(error, asked)
  }
}

/** The server alone writes there. */
async function* filesBelow(directory: string, above: readonly string[] = []): AsyncGenerator<Names> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* filesBelow(join(directory, entry.name), [...above, entry.name])
    else yield [...above, entry.name] as unknown as Names
  }
}
