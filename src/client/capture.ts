// What of a command's output is kept for its result.
import { joinBytes } from './bytes.ts'

export interface Capture {
  /** How much came, kept or not. */
  readonly totalBytes: number
  add(chunk: Uint8Array): void
  bytes(): Uint8Array
}

export function createCapture(keepBytes: number = Number.POSITIVE_INFINITY): Capture {
  const kept: Uint8Array[] = []
  let left = keepBytes
  let totalBytes = 0
  return {
    get totalBytes() {
      return totalBytes
    },
    add(chunk) {
      totalBytes += chunk.length
      const piece = chunk.subarray(0, Math.max(0, left))
      left -= piece.length
      if (piece.length > 0) kept.push(piece)
    },
    bytes: () => joinBytes(kept),
  }
}

/** A cut in the middle of a character leaves the character out; anything else that is no UTF-8 is shown as U+FFFD. */
export const textOf = (bytes: Uint8Array, truncated: boolean): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated })
