// Keeps the head of a stream up to a limit and drains the rest: a command is never killed or blocked for
// saying too much. Chunks are joined once, at the end, so splits inside a character do no harm.

export interface Capture {
  add(chunk: Uint8Array): void
  result(): { readonly bytes: Uint8Array; readonly totalBytes: number; readonly truncated: boolean }
}

/** What is beyond `limitBytes` counts as truncated; `keepBytes` is for a caller that has passed the rest on already. */
export function createCapture(limitBytes: number, keepBytes: number = limitBytes): Capture {
  const kept: Uint8Array[] = []
  let keptBytes = 0
  let totalBytes = 0
  return {
    add(chunk) {
      totalBytes += chunk.length
      const room = Math.min(limitBytes, keepBytes) - keptBytes
      if (room <= 0) return
      // Whoever gave the chunk may use its memory again.
      const piece = Buffer.from(chunk.subarray(0, room))
      kept.push(piece)
      keptBytes += piece.length
    },
    result: () => ({ bytes: Buffer.concat(kept), totalBytes, truncated: totalBytes > limitBytes }),
  }
}
