// Requests that nobody would send, made from the document itself: every operation, with input that almost fits. What must hold:
// no answer of 500, every answer as the document says, nothing without a token, and a server whose loop and memory stay bounded.
import { readFileSync } from 'node:fs'
import type { Operation } from '../fixtures/server-contract.ts'
import type { Asked, ServerGround } from './server-ground.ts'
import { type Lag, watchLag } from './server-lag.ts'
import { largeBody, largeForms } from './server-large.ts'
import { sampleOf, type Objects } from './server-objects.ts'

export interface FuzzReport {
  readonly requests: number
  readonly byStatus: ReadonlyMap<number, number>
  readonly faults: readonly string[]
  /** By the server's own doing. */
  readonly longestLagMs: number
  /** As far as it was work and no wait. */
  readonly longestComputedMs: number
  /** The requests among which its loop stood still for longer than it may. */
  readonly lags: readonly string[]
  /** At its largest. */
  readonly grownMiB: number
}

/** No request may keep the loop from all others for so long. */
export const mostLagMs = 100

/** `GLOVEBOX_FUZZ_SEED` asks again what an earlier one asked. */
export const chosenSeed = (): number => Number(process.env['GLOVEBOX_FUZZ_SEED'] ?? Date.now() % 1e6)

type Chance = () => number

/** The same seed asks the same. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const pick = <Value>(chance: Chance, all: readonly Value[]): Value => all[Math.floor(chance() * all.length)] as Value

const odd: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\0',
  '../../etc/passwd',
  '/proc/self/environ',
  '$(id)',
  '-rf',
  "'; drop table tokens; --",
  '\u202e',
  'x'.repeat(5000),
  [],
  {},
  [[[[[[]]]]]],
  { constructor: { prototype: {} } },
  ['--privileged'],
]

const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  {},
  {},
  { accept: 'text/event-stream' },
  { range: 'bytes=1-0' },
  { range: 'bytes=-1' },
  { 'last-event-id': '99999999' },
  { 'last-event-id': 'x' },
  { 'idempotency-key': 'k' },
  { 'content-encoding': 'gzip' },
  { 'content-type': 'text/plain' },
]

/** One value somewhere in it becomes an odd one, or a name comes or goes. */
function bent(value: unknown, chance: Chance): unknown {
  if (typeof value !== 'object' || value === null || chance() < 0.15) return pick(chance, odd)
  if (Array.isArray(value))
    return chance() < 0.5 ? [...(value as unknown[]), pick(chance, odd)] : value.map((each) => bent(each, chance))
  const names = Object.keys(value)
  const name =
    chance() < 0.7 && names.length > 0
      ? pick(chance, names)
      : pick(chance, ['policy', 'env', 'cwd', 'name', 'extra', 'timeoutMs', 'project'])
  const inner = (value as Readonly<Record<string, unknown>>)[name]
  return { ...value, [name]: bent(inner, chance) }
}

function bentPath(path: string, chance: Chance): string {
  const parts = path.split('/')
  const at = Math.floor(chance() * parts.length)
  const word = pick(chance, ['..', '%2e%2e', '%00', 'x'.repeat(300), '%ff', '%', 'sbx_00000000', '*', '{id}', "'"])
  if (chance() < 0.4)
    return `${path}${path.includes('?') ? '&' : '?'}${pick(chance, ['limit=-1', 'limit=1e9', 'cursor=x', 'path=', 'path=%00', 'x[]=1', 'a=1&a=2', '__proto__=1'])}`
  return parts.map((part, index) => (index === at && index > 0 ? word : part)).join('/')
}

interface Asking {
  readonly method: string
  readonly address: string
  readonly sent: Asked
  /** Of which request it was, in words. */
  readonly told: string
}

function anOdd(chance: Chance, operations: readonly Operation[], objects: Objects): Asking | undefined {
  const sample = sampleOf(pick(chance, operations), objects)
  if (sample === undefined) return undefined
  const { method, path, ...asked } = sample
  const sent: Asked = {
    ...asked,
    ...(asked.body === undefined || chance() < 0.2 ? {} : { body: bent(asked.body, chance) }),
    headers: pick(chance, oddHeaders),
    ...(chance() < 0.1 ? { token: null } : {}),
  }
  const address = chance() < 0.5 ? path : bentPath(path, chance)
  const told = `${method} ${address.slice(0, 200)} ${JSON.stringify(sent).slice(0, 300)}`
  return { method, address, sent, told }
}

function aLarge(chance: Chance, { project }: Objects): Asking {
  const form = pick(chance, largeForms)
  const [method, address] = ['POST', '/sandbox/execs']
  const body = largeBody(form, project)
  const sent = chance() < 0.5 ? body : { ...body, headers: { ...body.headers, 'idempotency-key': `large-${chance()}` } }
  return { method, address, sent, told: `${method} ${address} with ${form}` }
}

const isDue = (requests: number, each: number | undefined): boolean =>
  each !== undefined && requests % each === each - 1

export async function fuzz(
  ground: ServerGround,
  objects: Objects,
  options: {
    readonly seed: number
    readonly forMs: number
    /** Longer, until there have been so many. */
    readonly leastRequests?: number
    /** One request in so many is as large as one may be. Absent: none is. */
    readonly largeEach?: number
    readonly skip: (operation: Operation) => boolean
  },
): Promise<FuzzReport> {
  const chance = chanceOf(options.seed)
  // The events of a run that waits for a person do not end.
  await ground.call('POST', `/runs/${objects.runId}/approve`)
  const operations = ground.contract.operations.filter((operation) => !options.skip(operation))
  const faults: string[] = []
  const byStatus = new Map<number, number>()
  const before = memoryMiB(ground)
  const until = performance.now() + options.forMs
  await using lag = watchLag(ground)
  await lag.ask()
  const lags: string[] = []
  let [requests, longestLagMs, longestComputedMs, grownMiB] = [0, 0, 0, 0]
  const noteLag = ({ ms, computedMs, during }: Lag): void => {
    longestLagMs = Math.max(longestLagMs, ms)
    longestComputedMs = Math.max(longestComputedMs, computedMs)
    if (ms >= mostLagMs)
      lags.push(`${Math.round(ms)} ms (${Math.round(computedMs)} at work) in one of: ${during.join('\n  ')}`)
  }
  while ((performance.now() < until || requests < (options.leastRequests ?? 0)) && faults.length < 10) {
    const asked = isDue(requests, options.largeEach) ? aLarge(chance, objects) : anOdd(chance, operations, objects)
    if (asked === undefined) continue
    const { method, address, sent, told } = asked
    requests += 1
    const end = lag.begin(told)
    try {
      const answer = await ground.call(method, address, sent)
      const noted = end(answer.text)
      if (noted !== undefined) noteLag(noted)
      byStatus.set(answer.status, (byStatus.get(answer.status) ?? 0) + 1)
      const isOpen = /^\/(?:healthz|readyz|docs)/.test(address)
      if (answer.status >= 500) faults.push(`${told}: ${answer.status} ${answer.text.slice(0, 300)}`)
      if (sent.token === null && answer.status !== 401 && !isOpen)
        faults.push(`${told}: ${answer.status} without a token`)
    } catch (error) {
      faults.push(`${told}: ${String(error).slice(0, 500)}`)
    }
    if (requests % askedEach !== 0) continue
    noteLag(await lag.ask())
    grownMiB = Math.max(grownMiB, memoryMiB(ground) - before)
  }
  return { requests, byStatus, faults, longestLagMs, longestComputedMs, lags, grownMiB }
}

const askedEach = 20

function memoryMiB({ server }: ServerGround): number {
  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}
