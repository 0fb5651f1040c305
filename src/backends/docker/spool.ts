// Output that somebody else writes into files, handed on as it comes, and the code that is written when there will be no more.
import { closeSync, existsSync, openSync, read, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { LastingFollow } from '../../contract/lasting.ts'

const readAsync = promisify(read)
const pieceBytes = 256 * 1024
const shortestMs = 5
const longestMs = 100
const lookAtWriterMs = 1000

/** The code, or undefined if the writer is gone without having told one. */
export async function followSpool(
  place: string,
  { from, onStdout, onStderr }: LastingFollow,
  isWriterAlive: () => boolean,
): Promise<number | undefined> {
  const stdout = openTail(join(place, 'stdout'), from.stdout, onStdout)
  const stderr = openTail(join(place, 'stderr'), from.stderr, onStderr)
  let pauseMs = shortestMs
  let lookedAt = performance.now()
  for (;;) {
    // The end first: what is in the files then is all.
    const isOver = existsSync(join(place, 'status'))
    const moved = (await stdout()) + (await stderr())
    if (isOver) return readCode(place)
    pauseMs = moved > 0 ? shortestMs : Math.min(pauseMs * 1.5, longestMs)
    if (performance.now() - lookedAt > lookAtWriterMs) {
      lookedAt = performance.now()
      if (!isWriterAlive() && !existsSync(join(place, 'status'))) {
        await stdout()
        await stderr()
        return undefined
      }
    }
    await delay(pauseMs)
  }
}

function readCode(place: string): number | undefined {
  const [, code] = /^(\d{1,3})\n$/.exec(readFileSync(join(place, 'status'), 'utf8')) ?? []
  return code === undefined ? undefined : Number(code)
}

/** Hands over what is new, and tells how much that was. */
function openTail(
  path: string,
  from: number,
  take: (chunk: Uint8Array) => void | Promise<void>,
): () => Promise<number> {
  let at = from
  return async () => {
    if (!existsSync(path)) return 0
    const fd = openSync(path, 'r')
    const begun = at
    try {
      for (;;) {
        const piece = Buffer.allocUnsafe(pieceBytes)
        const { bytesRead } = await readAsync(fd, piece, 0, pieceBytes, at)
        if (bytesRead === 0) return at - begun
        at += bytesRead
        await take(piece.subarray(0, bytesRead))
      }
    } finally {
      closeSync(fd)
    }
  }
}
