// Requests that offer to go on in another protocol. Node hands their connections over and has nothing more to do with them, so whatever
// becomes of one is the server's own concern: nobody may keep it, or end the server with it, and least of all without a token.
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startServer, type ServerGround } from './server-ground.ts'
import { connectionsOf, faultsIn, sendRaw, statusOf } from './server-wire.ts'

const open: ServerGround[] = []
const guests: Socket[] = []

const begin = async (...flags: readonly string[]): Promise<ServerGround> => {
  const ground = await startServer({ flags })
  open.push(ground)
  return ground
}
afterEach(async () => {
  for (const guest of guests.splice(0)) guest.destroy()
  for (const ground of open.splice(0)) await ground.stop()
})

interface Guest {
  readonly socket: Socket
  readonly heard: () => Buffer
}

/** Does not end its own side, whatever the server does. */
function come(port: number, words: string): Guest {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const pieces: Buffer[] = []
  guests.push(socket)
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.on('error', () => {})
  socket.write(words)
  return { socket, heard: () => Buffer.concat(pieces) }
}

async function answered({ heard }: Guest): Promise<void> {
  await expect.poll(() => heard().toString()).toContain('\r\n\r\n')
}

/** Whole, and as the document says. */
async function answeredWell(guest: Guest, { contract }: ServerGround, words: string): Promise<void> {
  await answered(guest)
  await expect.poll(() => faultsIn(contract, words, guest.heard().toString('latin1'))).toEqual([])
}

const head = ({ port, token }: ServerGround, path: string, ...more: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`, ...more, '', ''].join('\r\n')

const http2 = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA']
const webSocket = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const shell = `/sandboxes/sbx_${'0'.repeat(32)}/shells/sh_${'0'.repeat(32)}/attach`

/** Each of them can be sent by whoever can reach the port. */
const offers: readonly (readonly [string, number, (ground: ServerGround) => string])[] = [
  ['HTTP/2', 200, (ground) => head(ground, '/healthz', ...http2)],
  ['HTTP/2, behind a body', 400, (ground) => `${head(ground, '/healthz', ...http2, 'Content-Length: 1')}x`],
  ['HTTP/2, before its body', 400, (ground) => `${head(ground, '/healthz', ...http2, 'Content-Length: 9')}x`],
  ['a WebSocket from nowhere', 403, (ground) => head(ground, shell, ...webSocket)],
  ['a WebSocket that is not there', 404, (ground) => head(ground, shell, ...webSocket, `Origin: ${ground.url}`)],
  [
    'a WebSocket without a token',
    401,
    (ground) => head({ ...ground, token: 'gbx_wrong' }, shell, ...webSocket, `Origin: ${ground.url}`),
  ],
]

describe('whoever offers another protocol', () => {
  it.each(offers)(
    'and resets the connection behind the answer leaves the server as it was: %s',
    async (_, status, words) => {
      const ground = await begin()
      const guest = come(ground.port, words(ground))
      await answeredWell(guest, ground, words(ground))
      expect(statusOf(guest.heard().toString())).toBe(status)
      guest.socket.resetAndDestroy()
      await expect.poll(() => connectionsOf(ground.port)).toBe(0)
      expect((await ground.call('GET', '/healthz')).status).toBe(200)
    },
  )

  it.each(offers)('and stays behind the answer is not waited for: %s', async (_, __, words) => {
    const ground = await begin()
    const silent = come(ground.port, words(ground))
    await answered(silent)
    // What is not read would keep the end behind it from being seen.
    const talkative = come(ground.port, words(ground))
    await answered(talkative)
    talkative.socket.end('x')
    await expect.poll(() => connectionsOf(ground.port)).toBe(0)
  })

  it('behind a request that is not answered yet ends its connection, and nothing else', async () => {
    const ground = await begin()
    for (const offer of [http2, webSocket])
      come(ground.port, head(ground, '/sandboxes') + head(ground, '/healthz', ...offer))
    await expect.poll(() => connectionsOf(ground.port)).toBe(0)
    expect((await ground.call('GET', '/healthz')).status).toBe(200)
  })

  it('is answered whole, however much there is to say, and its connection ends with the server', async () => {
    const ground = await begin('--grace', '1s')
    const sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
    // Larger than what the kernel keeps for a reader who takes nothing.
    const large = randomBytes(16 * 1024 * 1024)
    await ground.call('PUT', `${sandbox}/files?path=/workspace/large`, { raw: large })
    const words = head(ground, `${sandbox}/files?path=/workspace/large`, ...http2)
    const reader = come(ground.port, words)
    await expect.poll(() => reader.heard().subarray(-large.length).equals(large)).toBe(true)
    const idle = come(ground.port, words)
    await answered(idle)
    idle.socket.pause()
    ground.server.child.kill('SIGTERM')
    expect((await ground.server.finished).code).toBe(0)
  })
})

describe('a malformed handshake', () => {
  it('is refused as any other request, before it is recorded', async () => {
    const ground = await begin()
    const malformed: readonly (readonly string[])[] = [
      webSocket.filter((line) => !line.startsWith('Sec-WebSocket-Key')),
      webSocket.map((line) => (line.startsWith('Sec-WebSocket-Key') ? 'Sec-WebSocket-Key: short' : line)),
      webSocket.map((line) => (line.startsWith('Sec-WebSocket-Version') ? 'Sec-WebSocket-Version: 12' : line)),
      [...webSocket, 'Sec-WebSocket-Protocol: one,,two'],
      [...webSocket, 'Sec-WebSocket-Protocol: one, one'],
      [...webSocket, 'Content-Length: 4'],
    ]
    for (const lines of malformed) {
      const answer = await sendRaw(ground, `${head(ground, shell, ...lines, `Origin: ${ground.url}`)}body`)
      expect([lines, statusOf(answer)]).toEqual([lines, 400])
      expect(answer).toContain('"code":"INVALID_INPUT"')
    }
    const posted = head(ground, shell, ...webSocket, `Origin: ${ground.url}`).replace('GET', 'POST')
    expect(statusOf(await sendRaw(ground, posted))).toBe(400)
    expect((await ground.glovebox(['audit', 'show', '--json'])).stdout).not.toContain('shell.attach')
  })
})

describe('what cannot be read as a request', () => {
  it.each([
    ['no HTTP', 400, 'no HTTP\r\n\r\n'],
    ['too slow', 408, 'GET /healthz HTTP/1.1\r\n'],
  ])('is answered, and whoever sent it and stays is not waited for: %s', async (_, status, words) => {
    const ground = await begin('--limit', 'headersMs=500')
    const guest = come(ground.port, words)
    await answeredWell(guest, ground, words)
    expect(statusOf(guest.heard().toString())).toBe(status)
    await expect.poll(() => connectionsOf(ground.port)).toBe(0)
  })
})
