// What a command costs over HTTP: more than the library, alone; an exec of the API, with its directories and its record, against a sandbox
// that the library makes for one command; and with 64 clients at once, each with a sandbox of its own or with execs of the API, against as
// many bare bwraps.
import { Sandbox as RemoteSandbox } from '../src/client/index.ts'
import { Sandbox } from '../src/index.ts'
import { openBackendFor } from '../src/runtime/create.ts'
import { execOnce } from './exec-once.ts'
import { interleave, round, type Contestant, type Figures } from './interleave.ts'
import { leanClient, type LeanClient } from './lean-http.ts'
import { openPlace } from './place.ts'
import { rawBwrap } from './raw-bwrap.ts'
import { atLeast, atMost, type Result } from './result.ts'
import { serve } from './served.ts'

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
  using plain = leanClient(served)
  const alone = {
    http: () => commandOver(plain, remote.id),
    client: async () => check(await remote.commands.run(command)),
    library: async () => check(await local.commands.run(command)),
  }
  // V8 makes good code of what has run some hundred times, on all sides: they are in use for longer than they are new.
  const young = await interleave(alone, 80, 10)
  const inUse = await interleave(alone, 400, 400)
  // Opened once, as a program does that makes more than one sandbox; the server has opened its own.
  const backend = await openBackendFor({ backend: 'bwrap' })
  const whole = await interleave(
    {
      http: () => execOnce(served),
      library: async () => {
        await using once = await Sandbox.create({ backend, mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
        check(await once.commands.run(['bash', '-lc', 'true']))
      },
    },
    60,
    10,
  )
  const own = await Promise.all(Array.from({ length: clients }, () => RemoteSandbox.create({ url, token })))
  const crowd = await parallel(
    async (client) => check(await (own[client] ?? remote).commands.run(command)),
    await rawBwrap(place, workspace, command),
  )
  await Promise.all(own.map((each) => each.kill()))
  const recorded = await parallel(() => execOnce(served), await rawBwrap(place, workspace, ['bash', '-lc', 'true']))
  return [
    overLibrary('exec over HTTP − library exec', inUse.http, inUse),
    overLibrary('exec over HTTP − library exec, of a server that has just started', young.http, young),
    overLibrary("exec through the client, with Node's fetch, − library exec", inUse.client, inUse),
    overLibrary('the same of a client and a server that have just started', young.client, young),
    // Four times the disk has said by then that it keeps what it was given.
    overLibrary('exec of the API, with its record, − a sandbox of the library for one command', whole.http, whole, 15),
    ...ofCrowd(crowd, { what: 'a command over HTTP', least: 0.85 }),
    ...ofCrowd(recorded, { what: 'an exec of the API', least: 0.4 }),
  ]
}

const overLibrary = (name: string, ours: Figures, all: Readonly<Record<'library', Figures>>, limit = 3): Result =>
  atMost({
    name,
    promise: `≤ ${limit} ms`,
    measured: round(ours.medianMs - all.library.medianMs),
    limit,
    unit: 'ms',
    figures: { ...all },
  })

async function commandOver(plain: LeanClient, sandboxId: string): Promise<void> {
  const { status, body } = await plain.send('POST', `/sandboxes/${sandboxId}/commands`, { command })
  if (status !== 200 || body['exitCode'] !== 0) throw new Error(JSON.stringify(body))
}

function ofCrowd(crowd: Crowd, { what, least }: { readonly what: string; readonly least: number }): readonly Result[] {
  return [
    atMost({
      name: `errors of ${clients} parallel clients with ${what}`,
      promise: '0',
      measured: crowd.errors.length,
      limit: 0,
      unit: 'count',
      figures: { first: crowd.errors.slice(0, 3), commands: crowd.commands },
    }),
    atLeast({
      name: `throughput of ${what} ÷ raw bwrap, ${clients} at once`,
      promise: `≥ ${least}`,
      measured: round(crowd.rawMs / crowd.httpMs),
      limit: least,
      unit: 'ratio',
      figures: { httpMs: round(crowd.httpMs), rawMs: round(crowd.rawMs), commands: crowd.commands },
    }),
    atMost({
      name: `p99 ÷ p50 of ${what}, ${clients} at once`,
      promise: '≤ 5',
      measured: round(crowd.p99Ms / crowd.p50Ms),
      limit: 5,
      unit: 'ratio',
      figures: { p50Ms: round(crowd.p50Ms), p99Ms: round(crowd.p99Ms) },
    }),
  ]
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
async function parallel(http: (client: number) => Promise<void>, raw: Contestant): Promise<Crowd> {
  const errors: string[] = []
  const times: number[] = []
  const crowd = async (each: (client: number) => Promise<void>, note?: number[]): Promise<number> => {
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        for (let sent = 0; sent < commandsOfEach; sent += 1) {
          const from = performance.now()
          await each(client).catch((error: unknown) => errors.push(String(error)))
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
