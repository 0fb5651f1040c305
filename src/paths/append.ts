// Appending: in place to a file with one name; to a copy where the file has several.
import { closeSync, constants, ftruncateSync } from 'node:fs'
import { pieces, syncData, writeAll } from './content.ts'
import { reopen, statsOf, type Opened } from './descriptor.ts'
import { refusal, type Question } from './refusal.ts'
import { openSoleName } from './regular.ts'
import { replaceFile } from './replace.ts'
import { currentFile, withTarget, type Target, type WritableReach } from './target.ts'

export async function appendFile(reach: WritableReach, asked: Question, bytes: Uint8Array): Promise<void> {
  await withTarget(reach, asked, { parents: 'make' }, async (target) => {
    const present = currentFile(target)
    if (present === undefined) return await replaceFile(target, undefined, (fd) => writeAll(fd, bytes))
    try {
      // SECURITY: another name of the file may lie outside, so only a copy is changed.
      // test/attacks/host-paths: "a write does not reach through a hard link"
      if (present.stats.nlink > 1n) await appendToCopy(target, present, bytes)
      else await appendInPlace(target, present, bytes)
    } finally {
      closeSync(present.fd)
    }
  })
}

async function appendInPlace(target: Target, present: Opened, bytes: Uint8Array): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_APPEND
  const file = openSoleName(target.parent, target.name, present, flags, target.asked)
  if (file === undefined) throw refusal('BUSY', target.asked, 'the file is being changed from inside the sandbox')
  let written = 0n
  try {
    await writeAll(file.fd, bytes, (count) => (written += BigInt(count)))
    await syncData(file.fd)
  } catch (error) {
    takeBack(file, written)
    throw error
  } finally {
    closeSync(file.fd)
  }
}

/** Half an append is worse than none. What somebody else has added since is left alone. */
function takeBack(file: Opened, written: bigint): void {
  if (written > 0n && statsOf(file.fd).size === file.stats.size + written)
    ftruncateSync(file.fd, Number(file.stats.size))
}

async function appendToCopy(target: Target, present: Opened, bytes: Uint8Array): Promise<void> {
  const original = reopen(present.fd, constants.O_RDONLY)
  try {
    await replaceFile(target, present, async (fd) => {
      for await (const piece of pieces(original)) await writeAll(fd, piece)
      await writeAll(fd, bytes)
    })
  } finally {
    closeSync(original)
  }
}
