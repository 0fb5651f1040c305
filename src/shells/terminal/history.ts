// The last bytes of a stream, found by their offset from its first. One piece of memory that grows to its limit and no further,
// whatever the size of what comes in.

export interface History {
  /** The offset of the first byte that is kept, and the one behind the last. */
  readonly first: number
  readonly end: number
  readonly capacity: number
  append(bytes: Uint8Array): void
  /** From the offset on, at most so many. The offset must be kept. */
  slice(from: number, most: number): Buffer
}

const smallest = 4096

export function createHistory(capacity: number): History {
  let ring = Buffer.alloc(Math.min(smallest, capacity))
  let first = 0
  let end = 0

  const copyOut = (from: number, length: number): Buffer => {
    const copy = Buffer.allocUnsafe(length)
    const at = from % ring.length
    const head = ring.copy(copy, 0, at, Math.min(ring.length, at + length))
    if (head < length) ring.copy(copy, head, 0, length - head)
    return copy
  }
  const copyIn = (bytes: Uint8Array, offset: number): void => {
    const at = offset % ring.length
    const head = bytes.subarray(0, ring.length - at)
    ring.set(head, at)
    ring.set(bytes.subarray(head.length), 0)
  }
  const grow = (wanted: number): void => {
    if (wanted <= ring.length || ring.length === capacity) return
    const kept = copyOut(first, end - first)
    let size = ring.length
    while (size < wanted && size < capacity) size = Math.min(size * 2, capacity)
    ring = Buffer.alloc(size)
    copyIn(kept, first)
  }

  return {
    get first() {
      return first
    },
    get end() {
      return end
    },
    capacity,
    append(bytes) {
      grow(end - first + bytes.length)
      const kept = bytes.subarray(Math.max(0, bytes.length - ring.length))
      end += bytes.length
      copyIn(kept, end - kept.length)
      first = Math.max(first, end - ring.length)
    },
    slice: (from, most) => copyOut(from, Math.min(most, end - from)),
  }
}
