// Artifacts leave the sandbox: whoever may read an exec may download them. So the values of secrets are taken out of them when the
// guest has ended, in place and byte for byte, before they are hashed and listed. One that cannot be rewritten is removed.
import { closeSync, constants, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Redaction } from '../contract/redaction.ts'
import { inside, itself } from '../paths/descriptor.ts'
import { isErrno } from '../paths/refusal.ts'
import { walkGuestTree, type Met } from './guest-tree.ts'

const chunkBytes = 256 * 1024

/** SECURITY: test/attacks/vault-records: "a value that a command printed or kept is in no record of its exec" */
export async function redactArtifacts(root: string, redaction: Redaction): Promise<void> {
  if (!redaction.isActive) return
  for await (const met of walkGuestTree(root).entries()) {
    if (!met.found.stats.isFile()) continue
    await redactFile(met, redaction)
  }
}

async function redactFile(met: Met, redaction: Redaction): Promise<void> {
  let descriptor: number
  try {
    descriptor = openSync(itself(met.found.fd), constants.O_RDWR)
  } catch (error) {
    if (!isErrno(error)) throw error
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
