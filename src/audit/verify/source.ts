// Where the log to verify lies: a directory, which may be a copy on another machine.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

export interface LogSource {
  names(): readonly string[]
  /** Undefined if there is none. */
  read(name: string): Buffer | undefined
  chunks(name: string): Iterable<Buffer>
}

const chunkBytes = 1024 * 1024

export function directorySource(directory: string): LogSource {
  const path = (name: string): string => `${directory}/${name}`
  return {
    names: () => readdirSync(directory),
    read(name) {
      try {
        return readFileSync(path(name))
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    *chunks(name) {
      const descriptor = openSync(path(name), 'r')
      try {
        for (;;) {
          const chunk = Buffer.allocUnsafe(chunkBytes)
          const count = readSync(descriptor, chunk)
          if (count === 0) return
          yield chunk.subarray(0, count)
        }
      } finally {
        closeSync(descriptor)
      }
    },
  }
}

export interface Line {
  /** Without its line break. */
  readonly bytes: Buffer
  readonly offset: number
  /** False for what follows the last line break. */
  readonly isWhole: boolean
}

/** No writer makes a longer one. What is longer is cut here, so that a file of zeros does not fill the memory. */
const longestLine = 256 * 1024

export function* linesOf(chunks: Iterable<Buffer>): Generator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  let dropped = 0
  for (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      yield { bytes: bytes.subarray(start, end), offset, isWhole: true }
      offset += dropped + end - start + 1
      dropped = 0
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > longestLine) {
      dropped += rest.length - longestLine
      rest = rest.subarray(0, longestLine)
    }
  }
  if (rest.length > 0) yield { bytes: rest, offset, isWhole: false }
}
