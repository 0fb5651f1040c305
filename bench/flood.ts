// What one token's flood does to another token: its p99 with the flood and without, in turn within one run, and how long the server's
// event loop stood still. Both callers are elsewhere: the one who floods takes what time is left on this machine, and the one who
// measures has a processor when it needs one. The server is measured twice: sharing the cores with its own other threads and its sandboxes,
// as it comes; and with a core for the thread that answers whenever it needs one.
import { request } from 'node:http'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { figuresOf, type Sample, type Told } from './flood/figures.ts'
import { type Machine, monotonicMs, runFirst, type Span, watchMachine } from './flood/machine.ts'
import { type Program, startProgram } from './flood/program.ts'
import { round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'
import { serve, type Served } from './served.ts'

const seconds = 5
/** Of the short ones more, so that thirty answers decide and not fifteen; creates take half a minute each. */
const rounds = { gets: 6, pipelined: 6, creates: 3 } as const
/** Between two requests of the other token. */
const everyMs = 10
/** Until it is forgotten that the token was held, and it has its whole burst again. */
const forgottenMs = 11_000

export async function floodBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  using machine = await watchMachine()
  await using served = await serve(place, 'flooded', ['--log-level', 'warn'])
  const ask = asker(served)
  const tokenOf = async (name: string): Promise<string> => {
    const text = await ask('POST', '/tokens', JSON.stringify({ name, scopes: ['exec'], project: name }))
    return String((JSON.parse(text) as { token?: string }).token)
  }
  using flooder = startProgram('flooder', [served.url, await tokenOf('flood'), String(seconds)], {
    under: ['chrt', '--idle', '0'],
  })
  // Its own collector's threads would wait for those of the server, and it for them.
  using other = startProgram('other', [served.url, await tokenOf('other'), String(everyMs)], {
    nodeFlags: ['--single-threaded-gc'],
  })
  await other.hear()
  runFirst(other.pid, 2)
  const ground = { flooder, other, machine, ask }
  // What the first flood of each kind compiles stays compiled: a server has been asked before.
  for (const kind of kinds) await clearAway(ground, await flood(ground, kind))
  await delay(forgottenMs)
  const shared = await measureAll(ground)
  runFirst(served.pid, 1)
  const withCore = await measureAll(ground)
  return kinds.flatMap((kind) => resultsOf(kind, shared[kind], withCore[kind]))
}

const names = {
  gets: '10,000 GETs in a second, as far as they are answered',
  pipelined: '10,000 GETs in a second, answered or not',
  creates: '1,000 creates at once',
} as const
const kinds = ['gets', 'pipelined', 'creates'] as const
type Kind = keyof typeof names

interface Ground {
  readonly flooder: Program
  readonly other: Program
  readonly machine: Machine
  readonly ask: Ask
}

interface Flooded {
  readonly told: Readonly<Record<string, number>>
  readonly made: readonly string[]
}

async function flood({ flooder }: Ground, kind: Kind): Promise<Flooded> {
  flooder.say(kind)
  return JSON.parse(await flooder.hear()) as Flooded
}

async function clearAway({ ask }: Ground, { made }: Flooded): Promise<void> {
  for (const id of made) await ask('DELETE', `/sandboxes/${id}`)
}

async function samplesDuring<T>({ other }: Ground, whole: Promise<T>): Promise<readonly [readonly Sample[], T]> {
  other.say('begin')
  const result = await whole
  other.say('end')
  return [JSON.parse(await other.hear()) as readonly Sample[], result]
}

/** The longest of one flood: of the event loop, and of the machine itself. */
interface Standstill {
  readonly loopMs: number
  readonly machineMs: number
}

interface Measured {
  readonly quiet: Told
  readonly flooded: Told
  /** Of the first seconds of each flood, in which all of it arrives. */
  readonly arriving: Told
  readonly standstills: readonly Standstill[]
  readonly told: readonly unknown[]
  /** What the host took meanwhile, as the kernel counts it and as it was watched. */
  readonly stolenMs: number
  readonly stalledMs: number
  readonly lastedMs: number
}

async function measureAll(ground: Ground): Promise<Readonly<Record<Kind, Measured>>> {
  const gets = await measure('gets', ground)
  const pipelined = await measure('pipelined', ground)
  return { gets, pipelined, creates: await measure('creates', ground) }
}

async function measure(kind: Kind, ground: Ground): Promise<Measured> {
  const { machine, ask } = ground
  const samples = { quiet: [] as Sample[], flooded: [] as Sample[], arriving: [] as Sample[] }
  const standstills: Standstill[] = []
  const told: unknown[] = []
  const [begunAt, stolenBefore] = [monotonicMs(), machine.stolenMs()]
  for (let each = 0; each < rounds[kind]; each += 1) {
    await lagOf(ask)
    const floodedAt = monotonicMs()
    const [flooded, given] = await samplesDuring(ground, flood(ground, kind))
    samples.flooded.push(...flooded)
    samples.arriving.push(...flooded.slice(0, (seconds * 1000) / everyMs))
    standstills.push({ loopMs: round(await lagOf(ask)), machineMs: longestOf(machine.stalls, floodedAt) })
    told.push(given.told)
    await clearAway(ground, given)
    await delay(1000)
    const [quiet] = await samplesDuring(ground, delay(forgottenMs - 1000))
    samples.quiet.push(...quiet)
  }
  const stalls = machine.stalls.filter(({ from }) => from >= begunAt)
  return {
    quiet: figuresOf(samples.quiet, stalls),
    flooded: figuresOf(samples.flooded, stalls),
    arriving: figuresOf(samples.arriving, stalls),
    standstills,
    told,
    stolenMs: machine.stolenMs() - stolenBefore,
    lastedMs: round(monotonicMs() - begunAt),
    stalledMs: round(stalls.reduce((sum, { from, to }) => sum + to - from, 0)),
  }
}

function resultsOf(kind: Kind, shared: Measured, withCore: Measured): readonly Result[] {
  const standstills = [...shared.standstills, ...withCore.standstills]
  const figures = { shared, withCore }
  const ratio = (what: string, flooded: Told, quiet: Told): Result =>
    atMost({
      name: `p99 of another token ${what} ÷ without`,
      promise: '≤ 1.5',
      measured: round(flooded.p99Ms / quiet.p99Ms),
      limit: 1.5,
      unit: 'ratio',
      figures,
    })
  const name = names[kind]
  const takenOf = ({ stolenMs, lastedMs }: Measured): number => stolenMs / (lastedMs * availableParallelism())
  return [
    // A host that takes more keeps whoever asks away for so long that a flood is alone: the other figures then tell of the host.
    atMost({
      name: `share of the machine that its host took while ${name} were measured`,
      promise: '≤ 0.1',
      measured: round(Math.max(takenOf(shared), takenOf(withCore))),
      limit: 0.1,
      unit: 'ratio',
      figures: { shared: takenOf(shared), withCore: takenOf(withCore) },
    }),
    ratio(`during ${name}`, shared.flooded, shared.quiet),
    ratio(`during ${name}, with a core,`, withCore.flooded, withCore.quiet),
    // Of GETs all of it is its arrival.
    ...(kind !== 'creates'
      ? []
      : [
          ratio(`while ${name} arrive`, shared.arriving, shared.quiet),
          ratio(`while ${name} arrive, with a core,`, withCore.arriving, withCore.quiet),
        ]),
    atMost({
      name: `longest standstill of the event loop during ${name}, less the longest of the machine in the same flood`,
      promise: '≤ 100 ms',
      measured: Math.max(...standstills.map(({ loopMs, machineMs }) => round(Math.max(0, loopMs - machineMs)))),
      limit: 100,
      unit: 'ms',
      figures: { standstills },
    }),
  ]
}

const longestOf = (stalls: readonly Span[], since: number): number =>
  round(Math.max(0, ...stalls.filter(({ from }) => from >= since).map(({ from, to }) => to - from)))

/** Since it was last asked for. */
async function lagOf(ask: Ask): Promise<number> {
  const text = await ask('GET', '/metrics')
  return 1000 * Number(/^glovebox_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN)
}

type Ask = (method: string, path: string, body?: string) => Promise<string>

/** As the operator, on a connection for each: a kept one may just be closed. */
function asker({ url, token }: Served): Ask {
  return (method, path, body = '') =>
    new Promise((resolve, reject) => {
      const type = body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const headers = { authorization: `Bearer ${token}`, ...type }
      const sent = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('error', reject)
        response.on('end', () => resolve(text))
      })
      sent.on('error', reject)
      sent.end(body)
    })
}
