// The bytes of a request, counted while they come: nothing beyond the limit is kept, inflated or waited for.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { GloveboxError } from '../../errors/error.ts'

export async function readBytes(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const encoding = incoming.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return gather(incoming, maxBytes)
  if (encoding === 'gzip') return inflate(incoming, maxBytes)
  throw new GloveboxError('UNSUPPORTED_MEDIA_TYPE', 'Cannot read the body: its Content-Encoding is not known', {
    hint: 'Send it as it is, or with gzip.',
  })
}

async function gather(source: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let total = 0
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      total += chunk.length
      if (total > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof GloveboxError) throw error
    throw new GloveboxError('INVALID_INPUT', 'Cannot read the body: it broke off', { cause: error })
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/**
 * SECURITY: a few kilobytes of gzip can become gigabytes. What comes out is counted, and the rest is never inflated.
 * test/e2e/server-input: "a body that inflates beyond the limit is refused at the limit"
 */
async function inflate(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const gunzip = createGunzip()
  incoming.on('error', (error) => gunzip.destroy(error))
  incoming.pipe(gunzip)
  try {
    return await gather(gunzip, maxBytes)
  } finally {
    incoming.unpipe(gunzip)
    gunzip.destroy()
  }
}

export const decodeText = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new GloveboxError('INVALID_INPUT', 'Cannot read the body: it is not UTF-8')
  }
}

const tooLarge = (maxBytes: number): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot read the body: it has more than ${maxBytes} bytes`, {
    hint: 'Send less at a time.',
    facts: { maxBytes },
  })
