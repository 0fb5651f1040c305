// A way to PostgreSQL that can be cut at a chosen word: before the server hears it, or after it heard and before it answers.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Wire {
  /** The URL of the same database, by this way. */
  readonly url: string
  /** Cuts the next connection on which the client says `commit`, once. */
  cutAtCommit(when: When, options?: CutOptions): void
  readonly cuts: number
  /** There is a way again. */
  heal(): void
  remove(): Promise<void>
}

type When = 'unheard' | 'unanswered'

export interface CutOptions {
  /** Only of a transaction in which the client said this. */
  readonly after?: string
  /** From then on nobody gets through, until `heal`. */
  readonly isAway?: boolean
}

const socketName = '.s.PGSQL.5432'
/** A simple query: type, length, text, NUL. */
const commit = Buffer.from('Q\0\0\0\u000bcommit\0', 'latin1')
const begin = Buffer.from('begin; ')

export async function openWire(url: string): Promise<Wire> {
  const target = decodeURIComponent(new URL(url.replace('@/', '@x/')).searchParams.get('host') ?? '')
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-wire-'))
  const sockets = new Set<Socket>()
  let armed: (CutOptions & { readonly when: When }) | undefined
  let cuts = 0
  let isAway = false
  const server = createServer((client) => {
    if (isAway) return void client.destroy()
    const upstream = connect(join(target, socketName))
    let deaf = false
    /** By the client, in the transaction that it is in. */
    let said = ''
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
      said = (bytes.includes(begin) ? '' : said) + bytes.toString('latin1')
      const isMeant = armed !== undefined && said.includes(armed.after ?? '') && bytes.includes(commit)
      if (armed === undefined || !isMeant) return void upstream.write(bytes)
      deaf = true
      cuts++
      const { when, isAway: goesAway = false } = armed
      armed = undefined
      if (when === 'unanswered') upstream.end(bytes)
      else upstream.destroy()
      client.destroy()
      if (!goesAway) return
      isAway = true
      for (const socket of sockets) if (socket !== upstream) socket.destroy()
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
    cutAtCommit(when, options = {}) {
      armed = { ...options, when }
    },
    heal() {
      isAway = false
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
