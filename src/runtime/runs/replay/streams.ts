// Where two streams of bytes first differ, with some bytes around it, in memory that does not grow with them.
import { firstDifference } from '../../../executors/replay/bytes.ts'

const windowBytes = 256 * 1024
const contextBytes = 256

export interface StreamDifference {
  /** Of the first byte that differs, from the beginning of the streams. */
  readonly offset: number
  /** Both sides around it, beginning at the same byte. */
  readonly original: Uint8Array
  readonly replayed: Uint8Array
  /** Of the first byte that differs, in these. */
  readonly at: number
}

export async function differenceBetween(
  original: AsyncIterable<Uint8Array>,
  replayed: AsyncIterable<Uint8Array>,
): Promise<StreamDifference | undefined> {
  const [one, other] = [new Window(original), new Window(replayed)]
  try {
    for (let base = 0; ;) {
      await Promise.all([one.fill(windowBytes), other.fill(windowBytes)])
      const common = Math.min(one.bytes.length, other.bytes.length)
      const isEnd = one.isEnded && other.isEnded
      const [a, b] = isEnd ? [one.bytes, other.bytes] : [one.bytes.subarray(0, common), other.bytes.subarray(0, common)]
      const at = firstDifference(a, b)
      if (at !== undefined) {
        await Promise.all([one.fill(at + contextBytes), other.fill(at + contextBytes)])
        return { offset: base + at, original: one.bytes, replayed: other.bytes, at }
      }
      if (isEnd) return undefined
      // One has ended and the other goes on: the end is the difference.
      if (one.isEnded !== other.isEnded && common < windowBytes) {
        return { offset: base + common, original: one.bytes, replayed: other.bytes, at: common }
      }
      const passed = Math.max(0, common - contextBytes)
      one.drop(passed)
      other.drop(passed)
      base += passed
    }
  } finally {
    await Promise.all([one.close(), other.close()])
  }
}

class Window {
  readonly #source: AsyncIterator<Uint8Array>
  bytes: Buffer = Buffer.alloc(0)
  isEnded = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** At least so many bytes, or all that there are. */
  async fill(count: number): Promise<void> {
    while (this.bytes.length < count && !this.isEnded) {
      const next = await this.#source.next()
      if (next.done === true) this.isEnded = true
      // The source may use its memory again.
      else this.bytes = Buffer.concat([this.bytes, next.value])
    }
  }

  drop(count: number): void {
    this.bytes = this.bytes.subarray(count)
  }

  async close(): Promise<void> {
    await this.#source.return?.()
  }
}
