// One output stream of a command: masked, and closed when the command is gone even if someone still holds the pipe.
import type { Readable, Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Output {
  readonly stream: Readable
  /** Call when nothing of the command is known to be alive: what is still in the pipe is read, then the stream ends. */
  finish(): Promise<void>
}

const idleMs = 250
const pauseMs = 25
/** More than any pipe holds: what comes beyond it was written by a process that should be dead. */
const pipeBytes = 4 * 1024 * 1024

export function openOutput(source: Readable, mask: Transform): Output {
  let bytes = 0
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  source.once('error', () => mask.end())
  // A reader that turns away must not leave the command blocked on a full pipe.
  mask.once('close', () => source.destroy())
  source.pipe(mask)

  const isOver = (): boolean => source.readableEnded || source.destroyed

  const waitUntilDry = async (): Promise<void> => {
    const limit = bytes + pipeBytes
    let quietMs = 0
    while (!isOver() && quietMs < idleMs) {
      const before = bytes
      await sleep(pauseMs, undefined, { ref: false })
      if (bytes > limit) return
      // Silence means something only while our own reader keeps up.
      quietMs = bytes === before && !mask.writableNeedDrain ? quietMs + pauseMs : 0
    }
  }

  return {
    stream: mask,
    async finish() {
      await waitUntilDry()
      if (isOver()) return
      source.unpipe(mask)
      source.destroy()
      mask.end()
    },
  }
}
