// A place to print. Node writes to pipes synchronously, so a reader that does not read would stop the event loop,
// and with it the deadline and Ctrl-C; these writes run on the thread pool and are awaited instead.
import { fstatSync, write } from 'node:fs'
import { isatty } from 'node:tty'

export interface Sink {
  readonly isTerminal: boolean
  /** False once the reader has gone away, or the bytes could not be taken: what is written afterwards is dropped. */
  readonly open: boolean
  /** Why they could not be taken, as the system calls it (ENOSPC). Undefined where all were, or nobody wants them any more. */
  readonly fault: string | undefined
  /** Settles when the bytes have been taken. Chunks keep their order. Never rejects. */
  write(data: string | Uint8Array): Promise<void>
}

export function openSink(descriptor: number): Sink {
  const isTerminal = mayBeTerminal(descriptor) && isatty(descriptor)
  let open = true
  let fault: string | undefined
  let last: Promise<void> = Promise.resolve()
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    let rest = bytes
    while (open && rest.length > 0) {
      const written = await writeSome(descriptor, rest)
      if (typeof written === 'number') rest = rest.subarray(written)
      else {
        open = false
        if (!ofReaderGone.has(written) && !(isTerminal && written === 'EIO')) fault = written
      }
    }
  }
  return {
    isTerminal,
    get open() {
      return open
    },
    get fault() {
      return fault
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

/** A closed descriptor has no reader either. A terminal that hung up tells EIO, as a broken disk does. */
const ofReaderGone: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ENOTCONN', 'EBADF'])

const retryMs = 5

/** How many were taken, or the system's name of what was in the way. */
async function writeSome(descriptor: number, bytes: Uint8Array): Promise<number | string> {
  const { count, code } = await new Promise<{ count: number; code?: string | undefined }>((resolve) => {
    write(descriptor, bytes, (error, written) => resolve({ count: written, code: error?.code }))
  })
  if (code === undefined) return count
  // Whoever shares the descriptor may have made it non-blocking. Full is not gone: wait for the reader.
  if (code !== 'EAGAIN') return code
  await new Promise((resolve) => setTimeout(resolve, retryMs))
  return 0
}
