// Files that come with a request, for below the project's `inputs/`. All of them are looked at before the first is written.
import { closeSync } from 'node:fs'
import type { ExecInput } from '../contract/exec-record.ts'
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { writeAll } from '../paths/content.ts'
import { findInside, openRoot, type Opened } from '../paths/descriptor.ts'
import { makeDirectories } from '../paths/directories.ts'
import { ownerLike } from '../paths/owner.ts'
import { asRefusal, type Question } from '../paths/refusal.ts'
import { replaceFile } from '../paths/replace.ts'
import { guestInputs } from './layout.ts'

export interface CheckedInput {
  readonly path: string
  readonly names: readonly [string, ...string[]]
  readonly bytes: Uint8Array
}

/** Lexical: nothing of the host is looked at. */
export function checkInputs(inputs: readonly ExecInput[]): readonly CheckedInput[] {
  const checked = inputs.map(checkInput)
  const taken = new Map<string, 'file' | 'directory'>()
  for (const { names, path } of checked) {
    for (let depth = 1; depth < names.length; depth++) take(taken, names.slice(0, depth).join('/'), 'directory', path)
    take(taken, path, 'file', path)
  }
  return checked
}

function take(taken: Map<string, 'file' | 'directory'>, place: string, as: 'file' | 'directory', path: string): void {
  const before = taken.get(place)
  if (before !== undefined && (before === 'file' || as === 'file')) throw bad(path, 'two inputs have the same place')
  taken.set(place, as)
}

function checkInput({ path, content, content_base64 }: ExecInput): CheckedInput {
  if (path === '') throw bad(path, 'it is empty')
  // SECURITY: a NUL ends the name for the kernel but not for a check. test/attacks/execs: "an input reaches nothing outside of inputs/"
  if (path.includes('\0')) throw bad(path, 'it has a NUL byte')
  if (/\p{Surrogate}/u.test(path)) throw bad(path, 'it is not well-formed text')
  if (path.startsWith('/')) throw bad(path, 'it is absolute')
  const names = path.split('/')
  if (names.includes('..')) throw bad(path, 'it has a ".." in it')
  if (names.some((name) => name === '' || name === '.')) throw bad(path, 'a part of it is empty or "."')
  if (names.some((name) => Buffer.byteLength(name) > 255) || Buffer.byteLength(path) > 2048)
    throw bad(path, 'it is too long')
  const bytes = content === undefined ? Buffer.from(content_base64 ?? '', 'base64') : Buffer.from(content)
  return { path, names: names as [string, ...string[]], bytes }
}

/** In a directory of the server's own. */
export async function writeInputs(directory: string, inputs: readonly CheckedInput[]): Promise<void> {
  const root = openRoot(directory)
  try {
    for (const input of inputs) await writeOne(root, input)
  } finally {
    closeSync(root.fd)
  }
}

// SECURITY: by descriptor, one name after the other, so that a link on the way is seen and not followed.
// test/attacks/execs: "an input reaches nothing outside of inputs/"
export function lookAlong(root: Opened, { names, path }: Pick<CheckedInput, 'names' | 'path'>): void {
  let place = root
  try {
    for (const [index, name] of names.entries()) {
      const found = findInside(place.fd, name)
      if (place !== root) closeSync(place.fd)
      place = root
      if (found === undefined) return
      place = found
      if (found.stats.isSymbolicLink()) throw bad(path, 'there is a link on the way')
      const isLast = index === names.length - 1
      if (isLast ? !found.stats.isFile() : !found.stats.isDirectory())
        throw bad(path, isLast ? 'something that is no file has its name' : 'a part of it is a file')
    }
  } finally {
    if (place !== root) closeSync(place.fd)
  }
}

async function writeOne(root: Opened, { names, path, bytes }: CheckedInput): Promise<void> {
  const asked: Question = { verb: 'write', path: `${guestInputs}/${path}` as GuestPath }
  const owner = ownerLike(root.stats)
  try {
    const { directory } = await makeDirectories(root, names.slice(0, -1), { owner, asked })
    try {
      const name = names.at(-1) ?? ''
      await replaceFile({ parent: directory, name, owner, asked }, undefined, (fd) => writeAll(fd, bytes))
    } finally {
      if (directory !== root) closeSync(directory.fd)
    }
  } catch (error) {
    throw asRefusal(error, asked)
  }
}

const bad = (path: string, cause: string): GloveboxError =>
  new GloveboxError('INVALID_PATH', `Cannot take the input ${JSON.stringify(path.slice(0, 200))}: ${cause}`, {
    hint: 'Write inputs[].path relative to inputs/, for example data/table.csv.',
    facts: { fields: ['inputs'] },
  })
