// Standard input on its way to a command: passed on as it comes, with a bounded copy for the record.
import type { RunOptions } from '../../contract/exec.ts'

/** As much as one action takes elsewhere. Beyond it the record says how much there was. */
export const maxKeptInputBytes = 16 * 1024 * 1024

export interface InputTap {
  readonly source: AsyncIterable<Uint8Array>
  kept(): { readonly bytes: Uint8Array; readonly totalBytes: number }
}

/** Bytes are their own copy; a stream is tapped. */
export function tapInput(stdin: RunOptions['stdin']): Uint8Array | InputTap | undefined {
  if (stdin === undefined || stdin instanceof Uint8Array) return stdin
  return typeof stdin === 'string' ? Buffer.from(stdin) : tapStream(stdin)
}

function tapStream(stream: AsyncIterable<Uint8Array>): InputTap {
  const parts: Uint8Array[] = []
  let keptBytes = 0
  let totalBytes = 0
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      totalBytes += chunk.length
      const piece = chunk.subarray(0, maxKeptInputBytes - keptBytes)
      // Whoever made the chunk may use its memory again.
      if (piece.length > 0) parts.push(Uint8Array.from(piece))
      keptBytes += piece.length
      yield chunk
    }
  }
  return { source: passing(), kept: () => ({ bytes: Buffer.concat(parts), totalBytes }) }
}

export const keptInput = (stdin: Uint8Array | InputTap): { readonly bytes: Uint8Array; readonly totalBytes: number } =>
  stdin instanceof Uint8Array ? { bytes: stdin.subarray(0, maxKeptInputBytes), totalBytes: stdin.length } : stdin.kept()
