// One output of a shell, cut into the shares of its commands. A share ends at the mark that the host made for this command and that the
// shell has written behind its last byte. What is written between two commands, by what runs in the background, is kept for
// the next share, up to a limit. Nobody is ever made to wait for us, unless who takes the bytes asks for it.
import type { Readable } from 'node:stream'

export type Take = (chunk: Uint8Array) => void | Promise<void>

export interface MarkedStream {
  /** Settles with what stands behind the mark; undefined if the stream ends before it. */
  begin(mark: string, take: Take): Promise<string | undefined>
  /** How many bytes were written between commands and not kept; asking begins the count anew. */
  dropped(): number
}

/** What the shell writes before a mark: no path and no word can run on into it. */
const opening = '\u001e'
const openingByte = 0x1e
const lineBreak = 0x0a

/** As much as a background job may say between two commands. */
const mostStrayBytes = 1024 * 1024

interface Share {
  readonly needle: Buffer
  readonly take: Take
  readonly end: (word: string | undefined) => void
}

export function openMarkedStream(pipe: Readable): MarkedStream {
  let share: Share | undefined
  let held = Buffer.alloc(0)
  let stray: Buffer[] = []
  let strayBytes = 0
  let droppedBytes = 0
  let isOver = false

  const keepStray = (bytes: Buffer): void => {
    if (bytes.length === 0) return
    const room = mostStrayBytes - strayBytes
    if (room > 0) stray.push(Buffer.from(bytes.subarray(0, room)))
    strayBytes += Math.min(bytes.length, Math.max(0, room))
    droppedBytes += Math.max(0, bytes.length - Math.max(0, room))
  }
  const hand = ({ take }: Share, bytes: Buffer): void => {
    if (bytes.length === 0) return
    const taken = take(bytes)
    if (taken === undefined) return
    pipe.pause()
    const goOn = (): void => void pipe.resume()
    void taken.then(goOn, goOn)
  }
  const finish = (word: string | undefined): void => {
    const ended = share
    share = undefined
    ended?.end(word)
  }
  const read = (chunk: Buffer): void => {
    if (share === undefined) return keepStray(chunk)
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = Buffer.alloc(0)
    const at = bytes.indexOf(share.needle)
    const end = at < 0 ? -1 : bytes.indexOf(lineBreak, at)
    const cut = at < 0 ? bytes.length - beginningAtEnd(bytes, share.needle) : at
    hand(share, bytes.subarray(0, cut))
    if (end < 0) {
      held = Buffer.from(bytes.subarray(cut))
      return
    }
    finish(bytes.toString('latin1', at + share.needle.length, end).trim())
    keepStray(bytes.subarray(end + 1))
  }
  const close = (): void => {
    if (isOver) return
    isOver = true
    // What was held back was no mark.
    if (share !== undefined) hand(share, held)
    finish(undefined)
  }
  pipe.on('data', read)
  pipe.on('error', close)
  pipe.once('end', close)
  pipe.once('close', close)

  return {
    begin(mark, take) {
      const earlier = stray
      stray = []
      strayBytes = 0
      return new Promise((end) => {
        const begun: Share = { needle: Buffer.from(`${opening}${mark}`), take, end }
        for (const bytes of earlier) hand(begun, bytes)
        if (isOver) return end(undefined)
        share = begun
      })
    },
    dropped() {
      const count = droppedBytes
      droppedBytes = 0
      return count
    },
  }
}

/** How many of the last bytes could be the beginning of the needle. */
function beginningAtEnd(bytes: Buffer, needle: Buffer): number {
  const from = Math.max(0, bytes.length - needle.length + 1)
  for (let at = bytes.indexOf(openingByte, from); at >= 0; at = bytes.indexOf(openingByte, at + 1)) {
    const length = bytes.length - at
    if (bytes.compare(needle, 0, length, at) === 0) return length
  }
  return 0
}
