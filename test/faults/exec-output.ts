// Output without end, read by nobody, by a slow reader, and by one that comes and goes.
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { bytesOf, readEvents, shell, type ExecServer, type SeenEvent } from '../fixtures/exec-server.ts'

export const allowedGrowthMiB = 64

export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

export interface Flooded {
  readonly execId: string
  readonly grewMiB: number
  readonly seconds: number
  /** Of the exec itself, without what readers take to come. */
  readonly durationMs: number | null
  readonly status: string
  readonly exitCode: number | null
  readonly truncated: boolean
  readonly keptBytes: number
}

/** So many bytes on each output, with as many readers that take nothing, half of them, or one byte in a second. */
export async function flood(server: ExecServer, bytes: number, readers: number): Promise<Flooded> {
  for (let warm = 0; warm < 5; warm++) await server.exec(shell('head -c 2000000 /dev/zero'))
  const before = residentMiB(server.pid)
  let highest = before
  const timer = setInterval(() => (highest = Math.max(highest, residentMiB(server.pid))), 50)
  const begun = performance.now()
  const exec = await server.begin({
    ...shell(`head -c ${bytes} /dev/zero & head -c ${bytes} /dev/zero >&2 & wait; exit 7`),
    policy_overrides: { timeout_ms: 300_000 },
  })
  const reading = await Promise.all(
    Array.from({ length: readers }, (_, index) => openSlowReader(server, exec.exec_id, index % 2)),
  )
  const ended = await server.until(exec.exec_id, ({ ended_at }) => ended_at !== null, 300_000)
  const seconds = (performance.now() - begun) / 1000
  clearInterval(timer)
  for (const reader of reading) reader.close()
  const kept = await server.ask('GET', `/sandbox/execs/${exec.exec_id}/stdout`)
  return {
    execId: exec.exec_id,
    grewMiB: highest - before,
    seconds,
    durationMs: ended.duration_ms,
    status: ended.status,
    exitCode: ended.exit_code,
    truncated: ended.stdout_truncated && ended.stderr_truncated,
    keptBytes: Buffer.byteLength(kept.text),
  }
}

/** Of whoever has begun to answer, and whose answer is read so slowly. */
function openSlowReader(
  { url, token }: ExecServer,
  execId: string,
  bytesInASecond: number,
): Promise<{ close(): void }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = get(`${url}/sandbox/execs/${execId}/stream`, { headers, agent: false }, (response) => {
      response.pause()
      const timer = setInterval(() => void response.read(bytesInASecond), 1000)
      response.on('error', () => {})
      resolve({
        close() {
          clearInterval(timer)
          asked.destroy()
        },
      })
    })
    asked.on('error', reject)
  })
}

/** Reads so many events at a time, and comes back with the id of the last. */
export async function readInPieces(
  server: ExecServer,
  execId: string,
  eventsAtOnce: number,
): Promise<readonly SeenEvent[]> {
  const seen: SeenEvent[] = []
  for (;;) {
    const last = seen.at(-1)?.id
    const headers = last === undefined ? {} : { 'last-event-id': last }
    const response = await server.fetch(`/sandbox/execs/${execId}/stream`, { headers })
    if (response.status === 204) return seen
    const got = await readEvents(response, (events) => events.length >= eventsAtOnce)
    seen.push(...got.slice(0, eventsAtOnce))
  }
}

/** Every byte once: each event begins where the one before it ended. */
export function isGapless(events: readonly SeenEvent[], stream: 'stdout' | 'stderr'): boolean {
  let at = 0
  for (const { data } of events.filter(({ event }) => event === stream)) {
    if (data['offset'] !== at) return false
    at += Number(data['bytes'])
  }
  return at === bytesOf(events, stream).length
}
