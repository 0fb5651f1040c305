// Cuts a stream of bytes into records. Memory is bounded: of an overlong record only the head is kept.
export interface RecordReader {
  push(chunk: Uint8Array): void
  /** The last record, when the stream ended without its separator. */
  end(): void
}

export interface RecordOptions {
  /** A byte: newline or NUL. */
  readonly separator: number
  readonly maxBytes: number
  /** Returns false to take no more. */
  readonly take: (record: Buffer) => boolean
}

export function recordReader({ separator, maxBytes, take }: RecordOptions): RecordReader {
  let parts: Uint8Array[] = []
  let kept = 0
  let open = true

  const keep = (part: Uint8Array): void => {
    if (part.length === 0 || kept >= maxBytes) return
    const head = part.subarray(0, maxBytes - kept)
    // Copied, since the owner of the chunk may use its memory again.
    parts.push(Uint8Array.from(head))
    kept += head.length
  }
  const flush = (): void => {
    const record = Buffer.concat(parts)
    parts = []
    kept = 0
    open = take(record)
  }

  return {
    push(chunk) {
      let start = 0
      while (open) {
        const at = chunk.indexOf(separator, start)
        keep(chunk.subarray(start, at === -1 ? chunk.length : at))
        if (at === -1) return
        flush()
        start = at + 1
      }
    },
    end() {
      if (open && kept > 0) flush()
    },
  }
}
