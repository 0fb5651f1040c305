// Writing whole files: replace, and read-change-replace under one lock.
import { createHash } from 'node:crypto'
import { closeSync, constants } from 'node:fs'
import type { WriteOptions } from '../contract/files.ts'
import { pieces, writeAll } from './content.ts'
import type { Opened } from './descriptor.ts'
import { readBounded, requireCount } from './read.ts'
import { refusal, type Question } from './refusal.ts'
import { openSoleName } from './regular.ts'
import { replaceFile } from './replace.ts'
import { currentFile, withTarget, type Target, type WritableReach } from './target.ts'

export async function writeFile(
  reach: WritableReach,
  asked: Question,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<{ readonly created: boolean }> {
  const expected = checkedHash(options.expectedSha256, asked)
  const parents = options.parents === false ? 'require' : 'make'
  const absent = typeof expected === 'string' ? { absent: conflict(asked, 'the expected file is not there') } : {}
  return await withTarget(reach, asked, { parents, ...absent }, async (target) => {
    const present = currentFile(target)
    try {
      if (expected !== undefined) await requireExpected(target, present, expected)
      await replaceFile(target, present, (fd) => writeAll(fd, bytes))
      return { created: present === undefined }
    } finally {
      if (present !== undefined) closeSync(present.fd)
    }
  })
}

export async function updateFile(
  reach: WritableReach,
  asked: Question,
  options: { readonly maxBytes: number },
  change: (bytes: Uint8Array) => Uint8Array,
): Promise<void> {
  requireCount(options.maxBytes, 'maxBytes', asked)
  const absent = refusal('NOT_FOUND', asked, 'nothing is there')
  await withTarget(reach, asked, { parents: 'require', absent }, async (target) => {
    const present = currentFile(target)
    if (present === undefined) throw absent
    try {
      const read = (file: Opened) => readBounded(file, { offset: 0, maxBytes: options.maxBytes }, asked)
      const { bytes } = await reading(target, present, read)
      const changed = change(bytes)
      await replaceFile(target, present, (fd) => writeAll(fd, changed))
    } finally {
      closeSync(present.fd)
    }
  })
}

function checkedHash(hash: string | null | undefined, asked: Question): string | null | undefined {
  if (typeof hash !== 'string') return hash
  if (!/^[0-9a-f]{64}$/i.test(hash))
    throw refusal('INVALID_INPUT', asked, 'expectedSha256 is not a SHA-256 in hexadecimal')
  return hash.toLowerCase()
}

async function requireExpected(target: Target, present: Opened | undefined, expected: string | null): Promise<void> {
  if (expected === null) {
    if (present !== undefined) throw conflict(target.asked, 'a file is already there')
    return
  }
  if (present === undefined) throw conflict(target.asked, 'the expected file is not there')
  if ((await reading(target, present, hashOf)) !== expected)
    throw conflict(target.asked, 'it has changed since it was read')
}

const conflict = (asked: Question, cause: string): Error =>
  refusal('CONFLICT', asked, cause, { hint: 'Read the file again and repeat the change on what it holds now.' })

async function hashOf(file: Opened): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of pieces(file.fd)) hash.update(piece)
  return hash.digest('hex')
}

/** Works on the content under the rules of reading: a file with several names is refused. */
async function reading<T>(target: Target, present: Opened, work: (file: Opened) => Promise<T>): Promise<T> {
  const file = openSoleName(target.parent, target.name, present, constants.O_RDONLY, target.asked)
  if (file === undefined) throw refusal('BUSY', target.asked, 'the file is being changed from inside the sandbox')
  try {
    return await work(file)
  } finally {
    closeSync(file.fd)
  }
}
