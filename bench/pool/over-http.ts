// From POST /sandboxes to the result of the first command: two requests over a connection that is kept, by a client that costs next to
// nothing itself. The server is in use: between two of them its caller runs commands in a sandbox that it has, for as long as the server
// needs to make anew what was taken. A machine that did nothing for a while takes longer.
import { setTimeout as delay } from 'node:timers/promises'
import { leanClient, type LeanClient, type Server } from '../lean-http.ts'

/** Gives the id. */
async function createRunning(client: LeanClient): Promise<string> {
  const made = await client.send('POST', '/sandboxes', { project: 'bench' })
  if (made.status !== 201) throw new Error(`create: ${made.status} ${JSON.stringify(made.body)}`)
  const id = String(made.body['id'])
  await runIn(client, id)
  return id
}

async function runIn({ send }: LeanClient, id: string): Promise<void> {
  const ran = await send('POST', `/sandboxes/${id}/commands`, { command: ['/bin/true'] })
  if (ran.status !== 200 || ran.body['exitCode'] !== 0)
    throw new Error(`run: ${ran.status} ${JSON.stringify(ran.body)}`)
}

export interface CreateAndRun extends Disposable {
  once(): Promise<void>
  clear(): Promise<void>
  /** One command in a sandbox that it keeps. */
  work(): Promise<void>
  /** So many were made ahead, and wait. */
  areReady(count: number): Promise<boolean>
}

export function createAndRun(server: Server): CreateAndRun {
  const client = leanClient(server)
  let held: string | undefined
  let own: string | undefined
  return {
    async work() {
      if (own === undefined) own = await createRunning(client)
      else await runIn(client, own)
    },
    async once() {
      held = await createRunning(client)
    },
    async clear() {
      if (held !== undefined) await client.send('DELETE', `/sandboxes/${held}`)
      held = undefined
    },
    areReady: (count) => areReady(client, count),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  }
}

async function areReady({ send }: LeanClient, count: number): Promise<boolean> {
  const { ahead } = (await send('GET', '/pool')).body as { readonly ahead?: { readonly ready?: number } }
  if (ahead?.ready === undefined) throw new Error('the server tells nothing of what it made ahead')
  return ahead.ready >= count
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
  const callers = Array.from({ length: count }, () => leanClient(server))
  const faults: string[] = []
  // One before all others: the first request of a server loads what the others find loaded.
  using first = leanClient(server)
  await createRunning(first)
  while (!(await areReady(first, ahead))) await delay(20)
  const times = await Promise.all(
    callers.map(async (caller) => {
      const startedAt = performance.now()
      await createRunning(caller).catch((error: unknown) => faults.push(String(error)))
      return performance.now() - startedAt
    }),
  )
  for (const caller of callers) caller[Symbol.dispose]()
  const sorted = times.toSorted((a, b) => a - b)
  return {
    medianMs: Math.round(sorted[Math.floor(count / 2)] ?? Number.NaN),
    slowestMs: Math.round(sorted.at(-1) ?? 0),
    faults,
  }
}
