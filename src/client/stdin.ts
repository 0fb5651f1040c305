// What a command reads, gathered before it begins: a request has its whole body at once.
import type { RunOptions } from '../contract/exec.ts'
import { GloveboxError } from '../errors/error.ts'
import { toBase64 } from './base64.ts'
import { joinBytes } from './bytes.ts'

/** The server takes no more. */
const maxStdinBytes = 16 * 1024 * 1024

export interface CarriedInput {
  readonly stdinBase64?: string
}

/** Cancelled while it is gathered: what has come so far, since whoever asked looks at the signal next. */
export async function carriedInput({ stdin, signal }: Pick<RunOptions, 'stdin' | 'signal'>): Promise<CarriedInput> {
  if (stdin === undefined) return {}
  const bytes = typeof stdin === 'string' ? new TextEncoder().encode(stdin) : await gathered(stdin, signal)
  if (bytes.length > maxStdinBytes) throw tooLarge()
  return { stdinBase64: toBase64(bytes) }
}

async function gathered(
  source: Uint8Array | AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source
  const iterator = source[Symbol.asyncIterator]()
  const cancelled = new Promise<undefined>((resolve) => {
    if (signal?.aborted === true) resolve(undefined)
    signal?.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const next = await Promise.race([iterator.next(), cancelled])
    if (next === undefined || next.done === true) break
    chunks.push(next.value)
    length += next.value.length
    if (length <= maxStdinBytes) continue
    void iterator.return?.()?.catch(() => {})
    throw tooLarge()
  }
  return joinBytes(chunks)
}

const tooLarge = (): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot run the command: its input has more than ${maxStdinBytes} bytes`, {
    hint: 'Write it into a file of the sandbox, and let the command read that.',
    facts: { maxBytes: maxStdinBytes },
  })
