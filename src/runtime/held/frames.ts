// What goes between a shell that is held by a process of its own and whoever sits at it: one byte for the kind, four for the length,
// and the content. Both ends are this program under one user; a stream that breaks the form is broken off, and never guessed at.

export const kinds = {
  /** From the person: JSON with the size, and the offset from which to show. First of all, and once. */
  hello: 1,
  /** Bytes that were typed. */
  input: 2,
  /** JSON with the size. */
  resize: 3,
  /** The person leaves, and the shell is to go on. */
  leave: 4,
  /** The shell is to end. */
  end: 5,
  /** From the holder: JSON with the ids. */
  open: 16,
  /** Eight bytes for the offset, and what was written there. */
  output: 17,
  /** Eight bytes for the offset, and what draws the screen as it stood there. */
  screen: 18,
  /** JSON: how the program ended. */
  ended: 19,
  /** JSON: why there is nothing to sit at. */
  error: 20,
} as const

export type Kind = keyof typeof kinds

export interface Frame {
  readonly kind: Kind
  readonly content: Buffer
}

const headBytes = 5
const offsetBytes = 8
/** More than a chunk of a terminal, its screen, or what is typed at once. */
const mostContentBytes = 4 * 1024 * 1024

const names = new Map(Object.entries(kinds).map(([name, byte]) => [byte as number, name as Kind]))

export function frame(kind: Kind, content: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUInt8(kinds[kind], 0)
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

export const jsonFrame = (kind: Kind, value: unknown): Buffer => frame(kind, Buffer.from(JSON.stringify(value)))

export function chunkFrame(kind: 'output' | 'screen', offset: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(offsetBytes)
  head.writeBigUInt64BE(BigInt(offset), 0)
  return frame(kind, Buffer.concat([head, bytes]))
}

export const chunkIn = ({ content }: Frame): { readonly offset: number; readonly bytes: Uint8Array } => ({
  offset: Number(content.readBigUInt64BE(0)),
  bytes: content.subarray(offsetBytes),
})

/** Frames as they become whole. Throws where there can be none; what is cut off at the end is no frame. */
export async function* framesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.length >= headBytes) {
      const kind = names.get(held.readUInt8(0))
      const length = held.readUInt32BE(1)
      if (kind === undefined || length > mostContentBytes) throw new TypeError('These are no frames of a held shell.')
      if (held.length < headBytes + length) break
      yield { kind, content: held.subarray(headBytes, headBytes + length) }
      held = held.subarray(headBytes + length)
    }
  }
}
