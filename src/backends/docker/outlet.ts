// One output of a container, handed to one command after another. The pipe stays open between them; a command's share ends where
// the keeper has written the mark that only it and we know. The rest of the marked line is what the keeper says.
import { Readable } from 'node:stream'
import { borrow, handOn, makeLender } from '../../process/lending.ts'

export interface Outlet {
  /** What is written from now on, up to the mark. `onWord` gets what stands behind each mark, also after the share has ended. */
  begin(mark: string, onWord: (word: string) => void): Readable
  /** Ends the share at the next mark. To be called from `onWord`. */
  finish(): void
}

export function openOutlet(pipe: Readable): Outlet {
  let share: Readable | undefined
  let mark = Buffer.alloc(0)
  let say: (word: string) => void = () => {}
  let held = Buffer.alloc(0)

  const finish = (): void => {
    share?.push(null)
    share = undefined
    // What the keeper says next must not wait until the share has been read.
    pipe.resume()
  }
  const hand = (bytes: Buffer): void => {
    if (bytes.length === 0 || share === undefined || share.destroyed) return
    if (!handOn(share, bytes)) pipe.pause()
  }
  const take = (chunk: Buffer): void => {
    let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = Buffer.alloc(0)
    for (;;) {
      const at = mark.length === 0 ? -1 : rest.indexOf(mark)
      const end = at < 0 ? -1 : rest.indexOf(0x0a, at + mark.length)
      const cut = end >= 0 || at >= 0 ? at : rest.length - beginningAtEnd(rest, mark)
      hand(rest.subarray(0, cut))
      if (end < 0) {
        held = Buffer.from(rest.subarray(cut))
        return
      }
      say(rest.toString('latin1', at + mark.length, end).trim())
      rest = rest.subarray(end + 1)
    }
  }
  borrow(pipe, (chunk) => {
    take(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    return !pipe.isPaused()
  })
  pipe.on('data', take)
  pipe.on('error', () => {})
  // The container is gone: what was held back was no mark.
  pipe.once('close', () => {
    hand(held)
    finish()
  })

  return {
    begin(nextMark, onWord) {
      mark = Buffer.from(nextMark)
      say = onWord
      held = Buffer.alloc(0)
      const goOn = (): void => void pipe.resume()
      const begun = new Readable({ read: goOn }).on('resume', goOn)
      makeLender(begun)
      share = begun
      if (pipe.destroyed) finish()
      return begun
    },
    finish,
  }
}

/** How many of the last bytes could be the beginning of the mark. */
function beginningAtEnd(bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(bytes.length, mark.length - 1); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length
  }
  return 0
}
