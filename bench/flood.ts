// What one token's flood does to another token: its p99 with the flood and without, in turn within one run, and how long the server's
// event loop stood still. It is measured twice. First as it comes: the one who floods, the server, its sandboxes and the one who measures share
// the cores, and what that costs is told by a second server, which nobody floods and which is asked the same at the same time. Then with a core
// for the servers and for the one who measures whenever they need one, as if the flood came from elsewhere; then it is the server alone that
// makes somebody wait.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'
import { serve, type Served } from './served.ts'

const rounds = 3
const seconds = 5
/** Between two requests of the other token. */
const everyMs = 10

export async function floodBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  await using served = await serve(place, 'flooded', ['--log-level', 'warn'])
  const ask = asker(served, served.token)
  const tokenOf = async (name: string): Promise<string> =>
    String((await ask('POST', '/tokens', { name, scopes: ['exec'], project: name })).body['token'])
  using flooder = startFlooder(served, await tokenOf('flood'))
  const others = await settle(served, await tokenOf('other'))
  await using spared = await serve(place, 'spared', ['--log-level', 'warn'])
  const apart = await settle(spared, spared.token)
  // What the first flood compiles stays compiled: a server has been asked before.
  await flooder.flood('gets')
  await delay(1000)
  const ground = { flooder, others, apart, ask }
  const shared = { gets: await measure('gets', ground), creates: await measure('creates', ground) }
  for (const pid of [served.pid, spared.pid, process.pid]) giveCore(pid)
  const apartFromOthers = { gets: await measure('gets', ground), creates: await measure('creates', ground) }
  return (['gets', 'creates'] as const).flatMap((kind) => resultsOf(names[kind], shared[kind], apartFromOthers[kind]))
}

const names = { gets: '10,000 GETs in a second', creates: '1,000 creates at once' } as const

/** Its first thread goes before everybody else who wants to run, and what it starts does not. */
function giveCore(pid: number): void {
  const { status, stderr } = spawnSync('chrt', ['--fifo', '--reset-on-fork', '--pid', '1', String(pid)])
  if (status !== 0) throw new Error(`a flood is measured by root, who may choose who runs first: ${String(stderr)}`)
}

interface Others {
  readonly other: Ask
  readonly path: string
}

/** Whoever asks all the time has connections, and asks for what is loaded. */
async function settle(served: Served, token: string): Promise<Others> {
  const other = asker(served, token)
  const made = await other('POST', '/sandboxes', { project: 'other' })
  const others = { other, path: `/sandboxes/${String(made.body['id'])}` }
  for (let each = 0; each < 20; each += 1)
    await Promise.all(Array.from({ length: 32 }, () => other('GET', others.path)))
  await phase(others, delay(1000))
  return others
}

interface Ground {
  readonly flooder: Flooder
  readonly others: Others
  /** Of the server that nobody floods. */
  readonly apart: Others
  readonly ask: Ask
}

interface Measured {
  readonly quiet: Figures
  readonly flooded: Figures
  /** Of the first seconds of each flood, in which all of it arrives. */
  readonly arriving: Figures
  /** Of the server that nobody floods, at the same times. */
  readonly spared: { readonly quiet: Figures; readonly flooded: Figures }
  readonly lagsMs: readonly number[]
  readonly told: readonly unknown[]
}

async function measure(kind: keyof typeof names, { flooder, others, apart, ask }: Ground): Promise<Measured> {
  const times = {
    quiet: [] as number[],
    flooded: [] as number[],
    arriving: [] as number[],
    apartQuiet: [] as number[],
    apartFlooded: [] as number[],
  }
  const lagsMs: number[] = []
  const told: unknown[] = []
  const both = (whole: Promise<unknown>) => Promise.all([phase(others, whole), phase(apart, whole)])
  for (let each = 0; each < rounds; each += 1) {
    await lagOf(ask)
    const flood = flooder.flood(kind)
    const [flooded, apartFlooded] = await both(flood)
    times.flooded.push(...flooded)
    times.arriving.push(...flooded.slice(0, (seconds * 1000) / everyMs))
    times.apartFlooded.push(...apartFlooded)
    lagsMs.push(round(await lagOf(ask)))
    const { made, ...rest } = await flood
    told.push(rest)
    for (const id of made) await ask('DELETE', `/sandboxes/${id}`)
    // It is forgotten that the token was held, and it has its whole burst again.
    await delay(11_000)
    const [quiet, apartQuiet] = await both(delay(seconds * 1000))
    times.quiet.push(...quiet)
    times.apartQuiet.push(...apartQuiet)
  }
  return {
    quiet: figuresOf(times.quiet),
    flooded: figuresOf(times.flooded),
    arriving: figuresOf(times.arriving),
    spared: { quiet: figuresOf(times.apartQuiet), flooded: figuresOf(times.apartFlooded) },
    lagsMs,
    told,
  }
}

function resultsOf(name: string, shared: Measured, apart: Measured): readonly Result[] {
  const lags = [...shared.lagsMs, ...apart.lagsMs]
  const figures = { shared, apart }
  const ratio = (what: string, measured: number): Result =>
    atMost({ name: what, promise: '≤ 1.5', measured: round(measured), limit: 1.5, unit: 'ratio', figures })
  return [
    ratio(`p99 of another token during ${name} ÷ without, with a core`, apart.flooded.p99Ms / apart.quiet.p99Ms),
    ratio(`the same while it arrives, with a core`, apart.arriving.p99Ms / apart.quiet.p99Ms),
    ratio(`p99 of another token during ${name} ÷ without, on shared cores`, shared.flooded.p99Ms / shared.quiet.p99Ms),
    ratio(
      `p99 of another token during ${name} ÷ at a server beside it, on shared cores`,
      shared.flooded.p99Ms / shared.spared.flooded.p99Ms,
    ),
    atMost({
      name: `longest standstill of the event loop during ${name}`,
      promise: '≤ 100 ms',
      measured: Math.max(...lags),
      limit: 100,
      unit: 'ms',
      figures: { lagsMs: lags },
    }),
  ]
}

interface Flooded {
  readonly told: Readonly<Record<string, number>>
  readonly made: readonly string[]
}

interface Flooder extends Disposable {
  flood(kind: string): Promise<Flooded>
}

function startFlooder({ url }: Served, token: string): Flooder {
  const runner = fileURLToPath(new URL('../script/run-typescript.mjs', import.meta.url))
  const program = fileURLToPath(new URL('flood/flooder.ts', import.meta.url))
  // A flood comes from another machine. Here it takes what time the others leave, and none of theirs.
  const child = spawn('chrt', ['--idle', '0', process.execPath, runner, program, url, token, String(seconds)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  return {
    async flood(kind) {
      child.stdin.write(`${kind}\n`)
      const [line] = (await once(lines, 'line')) as [string]
      return JSON.parse(line) as Flooded
    },
    [Symbol.dispose]: () => void child.stdin.end(),
  }
}

/** One request every few milliseconds, whether the one before is answered or not, until the end of `whole`. */
async function phase({ other, path }: Others, whole: Promise<unknown>): Promise<readonly number[]> {
  let isOver = false
  void whole.finally(() => (isOver = true))
  const times: Promise<number>[] = []
  while (!isOver) {
    const sentAt = performance.now()
    times.push(
      other('GET', path).then(({ status }) => {
        if (status !== 200) throw new Error(`the other token was answered ${status}`)
        return performance.now() - sentAt
      }),
    )
    await delay(everyMs)
  }
  return Promise.all(times)
}

/** Since it was last asked for. */
async function lagOf(ask: Ask): Promise<number> {
  const { text } = await ask('GET', '/metrics')
  return 1000 * Number(/^glovebox_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN)
}

interface Figures {
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly samples: number
}

function figuresOf(times: readonly number[]): Figures {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => round(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN)
  return { p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1), samples: sorted.length }
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}
type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

function asker({ url }: Served, token: string): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const ask: Ask = (method, path, body) =>
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
          const isJson = told.startsWith('{')
          const parsed = isJson ? (JSON.parse(told) as Record<string, unknown>) : {}
          resolve({ status: response.statusCode ?? 0, text: told, body: parsed })
        })
      })
      // A server may close an idle connection in the very moment in which it is used again.
      sent.on('error', (error) => (sent.reusedSocket ? resolve(ask(method, path, body)) : reject(error)))
      sent.end(text)
    })
  return ask
}
