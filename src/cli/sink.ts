// A place to print. Node writes to pipes synchronously, so a reader that does not read would stop the event loop,
// and with it the deadline and Ctrl-C; these writes run on the thread pool and are awaited instead.
import { fstatSync, write } from 'node:fs'
import { isatty } from 'node:tty'

export interface Sink {
  readonly isTerminal: boolean
  /** False once the reader has gone away: what is written afterwards is dropped. */
  readonly open: boolean
  /** Settles when the bytes have been taken. Chunks keep their order. Never rejects. */
  write(data: string | Uint8Array): Promise<void>
}

export function openSink(descriptor: number): Sink {
  let open = true
  let last: Promise<void> = Promise.resolve()
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    let rest = bytes
    while (open && rest.length > 0) {
      const written = await writeSome(descriptor, rest)
      if (written === 'gone') open = false
      else rest = rest.subarray(written)
    }
  }
  return {
    isTerminal: mayBeTerminal(descriptor) && isatty(descriptor),
    get open() {
      return open
    },
    write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      last = last.then(() => writeAll(bytes))
      return last
    },
  }
}

/** Major and minor number on Linux. */
const ofDevNull = 0x103

/** Node loads modules for its own question, which a short command that nobody watches can do without. */
function mayBeTerminal(descriptor: number): boolean {
  try {
    const seen = fstatSync(descriptor)
    return seen.isCharacterDevice() && seen.rdev !== ofDevNull
  } catch {
    // Closed: nobody reads it.
    return false
  }
}

const retryMs = 5

async function writeSome(descriptor: number, bytes: Uint8Array): Promise<number | 'gone'> {
  const { count, code } = await new Promise<{ count: number; code?: string | undefined }>((resolve) => {
    write(descriptor, bytes, (error, written) => resolve({ count: written, code: error?.code }))
  })
  if (code === undefined) return count
  // Whoever shares the descriptor may have made it non-blocking. Full is not gone: wait for the reader.
  if (code !== 'EAGAIN') return 'gone'
  await new Promise((resolve) => setTimeout(resolve, retryMs))
  return 0
}
