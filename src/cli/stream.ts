// Output as it comes, up to the limit that policy sets; what follows is drained and dropped.
import type { Sink } from './sink.ts'

export interface StreamOptions {
  readonly maxBytes: number
  /** Called when the reader has gone away. */
  readonly onGone?: () => void
}

/** The promise of each chunk is the back-pressure: the command is held until its reader has taken the bytes. */
export function boundedStream(sink: Sink, options: StreamOptions): (chunk: Uint8Array) => Promise<void> | void {
  let left = options.maxBytes
  return (chunk) => {
    if (left === 0 || !sink.open) return undefined
    // A copy: the chunk is used again as soon as this returns.
    const shown = Buffer.from(chunk.subarray(0, left))
    left -= shown.length
    return sink.write(shown).then(() => {
      if (!sink.open) options.onGone?.()
    })
  }
}
