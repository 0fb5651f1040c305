// From POST /sandboxes to the result of the first command, as a caller in any language would do it: two requests, connections kept.
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface Server {
  readonly url: string
  readonly token: string
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

type Send = (method: string, path: string, body?: unknown) => Promise<Answer>

function sender({ url, token }: Server, agent: Agent): Send {
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      }
      const sent = request(`${url}${path}`, { method, headers, agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const told = Buffer.concat(chunks).toString()
          const body = told === '' ? {} : (JSON.parse(told) as Record<string, unknown>)
          resolve({ status: response.statusCode ?? 0, body })
        })
      })
      sent.on('error', reject)
      sent.end(text)
    })
}

/** Gives the id. */
async function createRunning(send: Send): Promise<string> {
  const made = await send('POST', '/sandboxes', { project: 'bench' })
  if (made.status !== 201) throw new Error(`create: ${made.status} ${JSON.stringify(made.body)}`)
  const id = String(made.body['id'])
  const ran = await send('POST', `/sandboxes/${id}/commands`, { command: ['/bin/true'] })
  if (ran.status !== 200 || ran.body['exitCode'] !== 0)
    throw new Error(`run: ${ran.status} ${JSON.stringify(ran.body)}`)
  return id
}

export function createAndRun(server: Server): { once(): Promise<void>; clear(): Promise<void> } {
  const send = sender(server, new Agent({ keepAlive: true, maxSockets: 1 }))
  let held: string | undefined
  return {
    async once() {
      held = await createRunning(send)
    },
    async clear() {
      if (held !== undefined) await send('DELETE', `/sandboxes/${held}`)
      held = undefined
    },
  }
}

/** Waits until so many were made ahead. */
export async function whenReady({ url, token }: Server, count: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    const ready = Number(/^glovebox_pool_ready (\d+)/m.exec(await response.text())?.[1] ?? Number.NaN)
    if (Number.isNaN(ready)) throw new Error('the server tells nothing of what it made ahead')
    if (ready >= count) return
    await delay(20)
  }
}

export interface BurstRequest {
  readonly count: number
  /** How many the server makes ahead. */
  readonly ahead: number
}

export interface Burst {
  readonly medianMs: number
  readonly slowestMs: number
  readonly faults: readonly string[]
}

export async function burst(server: Server, { count, ahead }: BurstRequest): Promise<Burst> {
  const send = sender(server, new Agent({ keepAlive: true, maxSockets: count }))
  const faults: string[] = []
  // One before all others: the first request of a server loads what the others find loaded.
  await createRunning(send)
  await whenReady(server, ahead)
  const times = await Promise.all(
    Array.from({ length: count }, async () => {
      const startedAt = performance.now()
      await createRunning(send).catch((error: unknown) => faults.push(String(error)))
      return performance.now() - startedAt
    }),
  )
  const sorted = times.toSorted((a, b) => a - b)
  return {
    medianMs: Math.round(sorted[Math.floor(count / 2)] ?? Number.NaN),
    slowestMs: Math.round(sorted.at(-1) ?? 0),
    faults,
  }
}
