// What a command costs over HTTP: more than the library, alone; an exec of the API, with its directories and its record, against a sandbox
// that the library makes for one command; and with 64 clients at once, against as many bare bwraps.
import { Sandbox as RemoteSandbox } from '../src/client/index.ts'
import { Sandbox } from '../src/index.ts'
import { interleave, round, type Contestant } from './interleave.ts'
import { openPlace } from './place.ts'
import { rawBwrap } from './raw-bwrap.ts'
import { atLeast, atMost, type Result } from './result.ts'
import { serve, type Served } from './served.ts'

const command = ['/bin/true'] as const
const clients = 64
const commandsOfEach = 6
const rounds = 5

export async function serverBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  await using served = await serve(place, 'served')
  const { url, token } = served
  await using remote = await RemoteSandbox.create({ url, token })
  const workspace = place.directory('workspace')
  await using local = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
  const alone = await interleave(
    {
      http: async () => check(await remote.commands.run(command)),
      library: async () => check(await local.commands.run(command)),
    },
    80,
    10,
  )
  const whole = await interleave(
    {
      http: () => execOnce(served),
      library: async () => {
        await using once = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
        check(await once.commands.run(['bash', '-lc', 'true']))
      },
    },
    60,
    10,
  )
  const crowd = await parallel(
    async () => check(await remote.commands.run(command)),
    await rawBwrap(place, workspace, command),
  )
  return [
    atMost({
      name: 'exec over HTTP − library exec',
      promise: '≤ 3 ms',
      measured: round(alone.http.medianMs - alone.library.medianMs),
      limit: 3,
      unit: 'ms',
      figures: alone,
    }),
    atMost({
      name: 'exec of the API, with its record, − a sandbox of the library for one command',
      promise: '≤ 3 ms',
      measured: round(whole.http.medianMs - whole.library.medianMs),
      limit: 3,
      unit: 'ms',
      figures: whole,
    }),
    atMost({
      name: `errors of ${clients} parallel clients`,
      promise: '0',
      measured: crowd.errors.length,
      limit: 0,
      unit: 'count',
      figures: { first: crowd.errors.slice(0, 3), commands: crowd.commands },
    }),
    atLeast({
      name: `throughput over HTTP ÷ raw bwrap, ${clients} at once`,
      promise: '≥ 0.85',
      measured: round(crowd.rawMs / crowd.httpMs),
      limit: 0.85,
      unit: 'ratio',
      figures: { httpMs: round(crowd.httpMs), rawMs: round(crowd.rawMs), commands: crowd.commands },
    }),
    atMost({
      name: `p99 ÷ p50 of a command over HTTP, ${clients} at once`,
      promise: '≤ 5',
      measured: round(crowd.p99Ms / crowd.p50Ms),
      limit: 5,
      unit: 'ratio',
      figures: { p50Ms: round(crowd.p50Ms), p99Ms: round(crowd.p99Ms) },
    }),
  ]
}

async function execOnce({ url, token }: Served): Promise<void> {
  const answer = await fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: 'bench', exec: { kind: 'shell', command: 'true' } }),
  })
  const text = await answer.text()
  if ((JSON.parse(text) as { readonly status?: string }).status !== 'SUCCEEDED') throw new Error(text)
}

interface Crowd {
  readonly errors: readonly string[]
  readonly commands: number
  /** Of all rounds together. */
  readonly httpMs: number
  readonly rawMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Rounds of both take turns; each client sends its next command when the one before is answered. */
async function parallel(http: Contestant, raw: Contestant): Promise<Crowd> {
  const errors: string[] = []
  const times: number[] = []
  const crowd = async (each: Contestant, note?: number[]): Promise<number> => {
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: clients }, async () => {
        for (let sent = 0; sent < commandsOfEach; sent += 1) {
          const from = performance.now()
          await each().catch((error: unknown) => errors.push(String(error)))
          note?.push(performance.now() - from)
        }
      }),
    )
    return performance.now() - startedAt
  }
  await crowd(http)
  await crowd(raw)
  let [httpMs, rawMs] = [0, 0]
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) httpMs += await crowd(http, times)
    rawMs += await crowd(raw)
    if (round % 2 === 1) httpMs += await crowd(http, times)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { errors, commands: times.length, httpMs, rawMs, p50Ms: at(0.5), p99Ms: at(0.99) }
}

function check(result: { readonly exitCode: number; readonly stderr: string }): void {
  if (result.exitCode !== 0) throw new Error(`the command ended with ${result.exitCode}: ${result.stderr}`)
}
