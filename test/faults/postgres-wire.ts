// A way to PostgreSQL that can be cut at a chosen word: before the server hears it, or after it heard and before it answers.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Wire {
  /** The URL of the same database, by this way. */
  readonly url: string
  /** Cuts the next connection on which the client says `commit`, once. */
  cutAtCommit(when: 'unheard' | 'unanswered'): void
  readonly cuts: number
  remove(): Promise<void>
}

const socketName = '.s.PGSQL.5432'
/** A simple query: type, length, text, NUL. */
const commit = Buffer.from('Q\0\0\0\u000bcommit\0', 'latin1')

export async function openWire(url: string): Promise<Wire> {
  const target = decodeURIComponent(new URL(url.replace('@/', '@x/')).searchParams.get('host') ?? '')
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-wire-'))
  const sockets = new Set<Socket>()
  let armed: 'unheard' | 'unanswered' | undefined
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(join(target, socketName))
    let deaf = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        // What was sent is still delivered.
        upstream.end()
      })
    }
    client.on('data', (bytes: Buffer) => {
      if (armed === undefined || !bytes.includes(commit)) return void upstream.write(bytes)
      deaf = true
      cuts++
      const when = armed
      armed = undefined
      if (when === 'unanswered') upstream.end(bytes)
      else upstream.destroy()
      client.destroy()
    })
    upstream.on('data', (bytes: Buffer) => {
      if (!deaf) client.write(bytes)
    })
  })
  await new Promise<void>((ready) => {
    server.listen(join(directory, socketName), ready)
  })
  return {
    url: url.replace(encodeURIComponent(target), encodeURIComponent(directory)),
    cutAtCommit(when) {
      armed = when
    },
    get cuts() {
      return cuts
    },
    async remove() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((closed) => {
        server.close(() => closed())
      })
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
