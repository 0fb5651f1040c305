import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGloveboxError } from '../../errors/error.ts'
import { createBodyRoom } from './body-room.ts'
import { decodeText, readBytes } from './body.ts'

const maxBytes = 100_000
const share = createBodyRoom({ bodyBytes: Infinity, bodyBytesPerToken: Infinity }).enter('anybody')
let server: Server
let port: number
/** The outcome of the next body: its bytes, or the code of the error. */
let outcome: Promise<string | Buffer>
let told: (outcome: string | Buffer) => void

beforeAll(async () => {
  server = createServer((incoming: IncomingMessage, outgoing) => {
    void readBytes(incoming, { maxBytes, share }).then(
      (bytes) => {
        told(Buffer.from(bytes))
        outgoing.end()
      },
      (error: unknown) => {
        told(isGloveboxError(error) ? error.code : 'a fault')
        outgoing.destroy()
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  port = typeof address === 'object' ? (address?.port ?? 0) : 0
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

interface Sent {
  readonly chunks: readonly Uint8Array[]
  readonly headers?: Readonly<Record<string, string>>
  readonly breaksOff?: true
}

async function send({ chunks, headers = {}, breaksOff }: Sent): Promise<string | Buffer> {
  outcome = new Promise((resolve) => (told = resolve))
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers })
  sent.on('error', () => {})
  sent.on('response', (response) => response.resume())
  // Not before it is there: of one that never came nobody tells anything.
  if (breaksOff === true) server.once('request', () => setTimeout(() => sent.destroy(), 20))
  for (const chunk of chunks) {
    sent.write(chunk)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (breaksOff !== true) sent.end()
  return outcome
}

const letters = (count: number): Buffer => Buffer.from(Array.from({ length: count }, (_, at) => 97 + (at % 26)))

describe('a body', () => {
  it('comes as it was sent, in one piece or in many, with its length or without', async () => {
    for (const size of [1, 100, 70_000, maxBytes]) {
      const whole = letters(size)
      const third = Math.ceil(size / 3)
      const parts = [whole.subarray(0, third), whole.subarray(third, 2 * third), whole.subarray(2 * third)]
      const chunks = parts.filter(({ length }) => length > 0)
      const headers = { 'content-length': String(size) }
      for (const sent of [{ chunks: [whole], headers }, { chunks, headers }, { chunks: [whole] }, { chunks }])
        expect((await send(sent)).toString()).toBe(whole.toString())
    }
    expect(await send({ chunks: [] })).toHaveLength(0)
  })

  it('of one byte after another is read whole', async () => {
    const whole = letters(500)
    expect((await send({ chunks: [...whole].map((byte) => Uint8Array.of(byte)) })).toString()).toBe(whole.toString())
  })

  it('beyond the limit is refused by its length, and while it comes', async () => {
    const tooMuch = letters(maxBytes + 1)
    expect(
      await send({ chunks: [letters(1)], headers: { 'content-length': String(maxBytes + 1) }, breaksOff: true }),
    ).toBe('TOO_LARGE')
    expect(await send({ chunks: [tooMuch] })).toBe('TOO_LARGE')
  })

  it('is inflated up to the limit and no further', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const zeros = (size: number): Buffer => gzipSync(Buffer.alloc(size))
    expect(await send({ chunks: [zeros(maxBytes)], headers })).toHaveLength(maxBytes)
    expect(await send({ chunks: [zeros(maxBytes + 1)], headers })).toBe('TOO_LARGE')
    expect(await send({ chunks: [zeros(50_000_000)], headers })).toBe('TOO_LARGE')
    expect(await send({ chunks: [letters(100)], headers })).toBe('INVALID_INPUT')
    expect(await send({ chunks: [letters(10)], headers: { 'content-encoding': 'br' } })).toBe('UNSUPPORTED_MEDIA_TYPE')
  })

  it('that breaks off is told so, inflated or not', async () => {
    expect(await send({ chunks: [letters(10)], breaksOff: true })).toBe('INVALID_INPUT')
    const half = gzipSync(letters(1000)).subarray(0, 20)
    expect(await send({ chunks: [half], headers: { 'content-encoding': 'gzip' }, breaksOff: true })).toBe(
      'INVALID_INPUT',
    )
    expect(await send({ chunks: [half], headers: { 'content-encoding': 'gzip' } })).toBe('INVALID_INPUT')
  })
})

describe('the text of a body', () => {
  it('is decoded whole, also where a character lies across two pieces', async () => {
    for (const length of [0, 1, 1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1]) {
      const text = `${'x'.repeat(length)}😀é${'ü'.repeat(600_000)}`
      expect((await decodeText(Buffer.from(text))) === text).toBe(true)
    }
    expect(await decodeText(Buffer.alloc(0))).toBe('')
    expect(await decodeText(Buffer.from('\ufeff{}'))).toBe('{}')
    expect(await decodeText(Buffer.alloc(3 * 1024 * 1024, 'ab'))).toBe('ab'.repeat(1.5 * 1024 * 1024))
  })

  it('that is no UTF-8 is refused, in whatever piece it is, also if it ends too soon', async () => {
    const long = Buffer.alloc(2 * 1024 * 1024 + 1, 'x')
    for (const at of [0, 1024 * 1024 - 1, 1024 * 1024, long.length - 1]) {
      const bytes = Buffer.from(long)
      bytes[at] = 0xff
      await expect(decodeText(bytes)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      bytes[at] = 0xc3
      await expect(decodeText(bytes)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })
})
