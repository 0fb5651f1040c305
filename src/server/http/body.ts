// The bytes of a request, counted while they come: nothing beyond the limit is kept, inflated or waited for.
import { isAscii } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { GloveboxError } from '../../errors/error.ts'
import type { BodyShare } from './body-room.ts'
import { createPace } from './pace.ts'

/** Inflated at a time: so much may be made beyond the limit before it is noticed. */
const inflatedBytes = 16 * 1024
/** Of a body that comes compressed, whatever its route takes: what costs its sender next to nothing must cost the server little. */
const mostInflatedBytes = 8 * 1024 * 1024

export interface BodyBounds {
  readonly maxBytes: number
  readonly share: BodyShare
}

export function readBytes(incoming: IncomingMessage, { maxBytes, share }: BodyBounds): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? 0)
  if (declared > maxBytes) return Promise.reject(tooLarge(maxBytes))
  const encoding = incoming.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return gather(incoming, { maxBytes, share, declared })
  if (encoding === 'gzip') return inflate(incoming, { maxBytes, share })
  return Promise.reject(
    new GloveboxError('UNSUPPORTED_MEDIA_TYPE', 'Cannot read the body: its Content-Encoding is not known', {
      hint: 'Send it as it is, or with gzip.',
    }),
  )
}

interface Expected extends BodyBounds {
  /** As the sender says; 0 where it does not. */
  readonly declared: number
  /** What to do about one that is too large. */
  readonly hint?: string | undefined
}

/** By events: an iterator over the same stream costs a quarter of a millisecond more, and most bodies are one chunk. */
function gather(source: Readable, { maxBytes, share, declared, hint }: Expected): Promise<Buffer> {
  // SECURITY: all that one may send at once would be more than the server has memory for. One that says its length is refused unread.
  // test/faults/server-flood: "bodies that are not answered yet are bounded for each token, and others are served"
  const refusal = share.hold(declared)
  if (refusal !== undefined) return Promise.reject(refusal)
  return new Promise((resolve, reject) => {
    const gathered = createPieces()
    const onData = (chunk: Buffer): void => {
      const total = gathered.total() + chunk.length
      const why = total > maxBytes ? tooLarge(maxBytes, hint) : share.hold(total)
      if (why !== undefined) return stop(() => reject(why))
      gathered.add(chunk, { isAll: chunk.length === declared })
    }
    const onEnd = (): void => stop(() => resolve(gathered.whole()))
    const onBroken = (cause?: unknown): void =>
      stop(() => reject(new GloveboxError('INVALID_INPUT', 'Cannot read the body: it broke off', { cause })))
    const stop = (settle: () => void): void => {
      source.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      // A fault that comes later has nobody left to be told to.
      source.on('error', () => {})
      source.pause()
      settle()
    }
    if (source.destroyed) return onBroken(source.errored)
    source.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
  })
}

/** What is smaller is copied together with its neighbours, into one of these at a time. */
const smallBytes = 4 * 1024
const slabBytes = 16 * 1024

interface Pieces {
  total(): number
  add(chunk: Buffer, of: { readonly isAll: boolean }): void
  whole(): Buffer
}

/** Somebody may send one byte at a time, and each of a million chunks would cost a hundred times what is in it. */
function createPieces(): Pieces {
  const pieces: Buffer[] = []
  let slab = Buffer.alloc(0)
  let [from, to, total] = [0, 0, 0]
  const endPiece = (): void => {
    if (to > from) pieces.push(slab.subarray(from, to))
    from = to
  }
  return {
    total: () => total,
    add(chunk, { isAll }) {
      total += chunk.length
      if (isAll || chunk.length >= smallBytes) {
        endPiece()
        pieces.push(chunk)
        return
      }
      if (slab.length - to < chunk.length) {
        endPiece()
        slab = Buffer.allocUnsafeSlow(slabBytes)
        from = to = 0
      }
      to += chunk.copy(slab, to)
    },
    whole() {
      endPiece()
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, total)
    },
  }
}

/**
 * SECURITY: a few kilobytes of gzip can become gigabytes. What comes out is counted, and the rest is never inflated.
 * test/faults/server-flood: "a body that inflates to a gibibyte, or never ends, costs the server less than 16 MiB"
 */
async function inflate(incoming: IncomingMessage, bounds: BodyBounds): Promise<Buffer> {
  const gunzip = createGunzip({ chunkSize: inflatedBytes })
  // One that has come whole is closed, too, while the last of it is inflated.
  const onBroken = (): void => {
    if (!incoming.readableEnded) gunzip.destroy(incoming.errored ?? new Error('it broke off'))
  }
  incoming.once('close', onBroken)
  incoming.on('error', onBroken)
  incoming.pipe(gunzip)
  try {
    return await gather(gunzip, {
      share: bounds.share,
      maxBytes: Math.min(bounds.maxBytes, mostInflatedBytes),
      hint: bounds.maxBytes > mostInflatedBytes ? 'Send it without Content-Encoding, or less at a time.' : undefined,
      declared: 0,
    })
  } finally {
    incoming.off('close', onBroken)
    incoming.unpipe(gunzip)
    incoming.pause()
    gunzip.destroy()
  }
}

const decodedBytes = 1024 * 1024

/** In pieces where it is long: text of many alphabets takes longer than anybody should wait. */
export async function decodeText(bytes: Buffer): Promise<string> {
  // Most are, and then there is nothing to decode: it becomes text in one piece.
  if (isAscii(bytes)) return bytes.toString('latin1')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const pace = createPace()
  let text = ''
  try {
    for (let from = 0; from < bytes.length; from += decodedBytes) {
      text += utf8.decode(bytes.subarray(from, from + decodedBytes), { stream: true })
      await pace.rest()
    }
    return text + utf8.decode()
  } catch {
    throw new GloveboxError('INVALID_INPUT', 'Cannot read the body: it is not UTF-8')
  }
}

const tooLarge = (maxBytes: number, hint = 'Send less at a time.'): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot read the body: it has more than ${maxBytes} bytes`, {
    hint,
    facts: { maxBytes },
  })
