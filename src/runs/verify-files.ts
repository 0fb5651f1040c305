// How the verifier reads: what has a name is taken hold of without following it, its kind is asked of the descriptor, and
// the bytes come from that same descriptor. A directory under verification may be a copy from anywhere, with links and
// FIFOs in it, and may change while it is read.
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const partBytes = 1024 * 1024
const bytesPerTurn = 32 * partBytes

/** Undefined where no directory has the name; a link to one is none. */
export function openDirectory(path: string): Directory | undefined {
  const fd = tryOpen(path, O_DIRECTORY)
  return fd === undefined ? undefined : new Directory(fd, path)
}

export class Directory {
  readonly #fd: number
  readonly #place: string

  constructor(fd: number, path: string) {
    this.#fd = fd
    // Behind the descriptor, where the host can say so: the name may lead elsewhere by now.
    this.#place = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
  }

  /** One component, never with a slash. */
  at(name: string): string {
    return join(this.#place, name)
  }

  names(): readonly string[] {
    return readdirSync(this.#place).toSorted()
  }

  open(name: string): Directory | undefined {
    return openDirectory(this.at(name))
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

export interface FileHash {
  readonly sha256: string
  readonly bytes: number
}

/** Undefined when it is gone or no regular file. */
export async function hashRegular(path: string | Buffer, buffer: Buffer): Promise<FileHash | undefined> {
  const hash = createHash('sha256')
  const bytes = await readRegular(path, buffer, (part) => void hash.update(part))
  return bytes === undefined ? undefined : { sha256: hash.digest('hex'), bytes }
}

export async function textOf(path: string): Promise<string | undefined> {
  const parts: Buffer[] = []
  const bytes = await readRegular(path, readingBuffer(), (part) => void parts.push(Buffer.from(part)))
  return bytes === undefined ? undefined : Buffer.concat(parts).toString('utf8')
}

/** How many bytes there were. Each part is good until the next comes. Large files let others have their turn. */
export async function readRegular(
  path: string | Buffer,
  buffer: Buffer,
  onPart: (part: Buffer) => void,
): Promise<number | undefined> {
  const fd = tryOpen(path, 0)
  if (fd === undefined) return undefined
  try {
    if (!fstatSync(fd).isFile()) return undefined
    for (let bytes = 0; ;) {
      const count = readSync(fd, buffer, 0, buffer.length, bytes)
      if (count > 0) onPart(buffer.subarray(0, count))
      bytes += count
      if (count < buffer.length) return bytes
      if (bytes % bytesPerTurn === 0) await turn()
    }
  } finally {
    closeSync(fd)
  }
}

/** Scratch space, lent to one call at a time. */
export const readingBuffer = (): Buffer => Buffer.allocUnsafeSlow(partBytes)

function tryOpen(path: string | Buffer, flags: number): number | undefined {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO') return undefined
    throw error
  }
}
