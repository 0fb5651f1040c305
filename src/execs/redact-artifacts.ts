// Artifacts leave the sandbox: whoever may read an exec may download them. So the values of secrets are taken out of them when the
// guest has ended, in place and byte for byte, before they are hashed and listed. One that cannot be rewritten is removed. Their
// names, and what links lead to, are listed in a record of ours, and are told like the rest.
import {
  closeSync,
  constants,
  openSync,
  readSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Redaction } from '../contract/redaction.ts'
import { inside, itself, statsInside, type Opened } from '../paths/descriptor.ts'
import { isErrno } from '../paths/refusal.ts'
import { walkGuestTree, type Met } from './guest-tree.ts'

const chunkBytes = 256 * 1024

/** SECURITY: test/attacks/vault-records: "a value that a command printed or kept is in no record of its exec" */
export async function redactArtifacts(root: string, redaction: Redaction): Promise<void> {
  if (!redaction.isActive) return
  const findFree = openFreeNames()
  for await (const met of walkGuestTree(root).entries()) {
    if (met.found.stats.isFile()) await redactFile(met, redaction)
    if (met.found.stats.isSymbolicLink()) redactLink(met, redaction)
    // The last, since all else goes by its name.
    redactName(met, redaction, findFree)
  }
}

function redactLink({ parent, name }: Met, redaction: Redaction): void {
  const link = inside(parent.fd, name)
  const target = readlinkSync(link, 'buffer')
  const told = redacted(target, redaction)
  if (told.equals(target)) return
  unlinkSync(link)
  symlinkSync(told, link)
}

/** Looked for in the whole path, of which each step has only its own name to change: a value may have a slash in it. */
function redactName({ parent, name, path }: Met, redaction: Redaction, findFree: FindFree): void {
  const told = redacted(path, redaction).subarray(path.length - name.length)
  if (told.equals(name)) return
  try {
    renameSync(inside(parent.fd, name), inside(parent.fd, findFree(parent, told)))
  } catch (error) {
    // It was removed just now.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

type FindFree = (parent: Opened, wanted: Buffer) => Buffer
const longestName = 255

/** A guest can leave very many names that become the same: no number is tried twice. */
function openFreeNames(): FindFree {
  let number = 0
  return (parent, wanted) => {
    let name = wanted
    while (statsInside(parent.fd, name) !== undefined) {
      const more = Buffer.from(`-${++number}`)
      name = Buffer.concat([wanted.subarray(0, longestName - more.length), more])
    }
    return name
  }
}

function redacted(bytes: Buffer, redaction: Redaction): Buffer {
  const redactor = redaction.open({ sameLength: true })
  return Buffer.concat([redactor.push(bytes), redactor.end()])
}

async function redactFile(met: Met, redaction: Redaction): Promise<void> {
  let descriptor: number
  try {
    descriptor = openSync(itself(met.found.fd), constants.O_RDWR)
  } catch (error) {
    // The guest's file is not at fault where we have no descriptor left: it is tried again.
    if (!isErrno(error) || isErrno(error, 'EMFILE', 'ENFILE')) throw error
    return unlinkSync(inside(met.parent.fd, met.name))
  }
  try {
    await rewrite(descriptor, redaction)
  } finally {
    closeSync(descriptor)
  }
}

async function rewrite(descriptor: number, redaction: Redaction): Promise<void> {
  const redactor = redaction.open({ sameLength: true })
  const chunk = Buffer.alloc(chunkBytes)
  let read = 0
  let written = 0
  let original = Buffer.alloc(0)
  const put = (bytes: Uint8Array): void => {
    const before = original.subarray(0, bytes.length)
    if (!before.equals(bytes)) writeSync(descriptor, bytes, 0, bytes.length, written)
    written += bytes.length
    original = original.subarray(bytes.length)
  }
  for (;;) {
    const length = readSync(descriptor, chunk, 0, chunk.length, read)
    if (length === 0) break
    read += length
    const piece = Buffer.from(chunk.subarray(0, length))
    original = Buffer.concat([original, piece])
    put(redactor.push(piece))
    await turn()
  }
  put(redactor.end())
}
