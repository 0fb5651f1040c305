// Several servers on one Docker (or one host of bubblewrap) and one PostgreSQL, used by callers who ask any of them for the sandboxes of a few
// keys, while the servers are killed, stopped, continued and started anew at random. What each command does in its sandbox's files, in the
// order in which it did it, tells afterwards whether two servers ever used one sandbox at a time.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makePlace, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, type Cluster } from '../fixtures/postgres.ts'
import { judgeJournal } from './pool-journal.ts'
import { watchTokens, type TokenWatch } from './pool-tokens.ts'
import { seeded, type Chance } from './seeded.ts'

export interface ServersOptions {
  readonly backend: 'bwrap' | 'docker'
  readonly servers: number
  readonly keys: number
  readonly callers: number
  readonly durationMs: number
  readonly leaseSeconds: number
  readonly seed: number
}

export interface ServersReport {
  readonly kills: number
  readonly stops: number
  /** Commands whose result was answered. */
  readonly answered: number
  /** Answers that a caller may get while servers die: by code. */
  readonly refusals: Readonly<Record<string, number>>
  /** Grants that were seen, and how often a sandbox changed hands. */
  readonly grants: number
  readonly handovers: number
  /** What must not happen. */
  readonly faults: readonly string[]
}

interface Ground {
  readonly options: ServersOptions
  readonly chance: Chance
  readonly place: string
  readonly env: Readonly<Record<string, string>>
  readonly servers: (ExecServer | undefined)[]
  readonly faults: string[]
  readonly refusals: Record<string, number>
  /** By key: what was answered, and so must be found. */
  readonly answered: Map<string, string[]>
  token: string
  isOver: boolean
}

export async function runServers(options: ServersOptions): Promise<ServersReport> {
  const cluster: Cluster = startCluster()
  const url = cluster.createDatabase()
  const place = makePlace()
  const ground: Ground = {
    options,
    chance: seeded(options.seed),
    place,
    env: { DATABASE_URL: url },
    servers: [],
    faults: [],
    refusals: {},
    answered: new Map(),
    token: '',
    isOver: false,
  }
  try {
    for (let index = 0; index < options.servers; index += 1) ground.servers[index] = await start(ground)
    const tokens = await watchTokens(url)
    const callers = Array.from({ length: options.callers }, (_, caller) => call(ground, caller))
    const trouble = await makeTrouble(ground)
    ground.isOver = true
    await Promise.all(callers)
    await settle(ground, tokens)
    const seen = await tokens.stop()
    ground.faults.push(...seen.faults)
    const answered = [...ground.answered.values()].reduce((sum, all) => sum + all.length, 0)
    const { refusals, faults } = ground
    return { ...trouble, answered, refusals, grants: seen.grants, handovers: seen.handovers, faults }
  } finally {
    for (const server of ground.servers) server?.child.kill('SIGCONT')
    for (const server of ground.servers) await server?.remove()
    cluster.remove()
  }
}

async function start(ground: Ground): Promise<ExecServer> {
  const { place, env, options } = ground
  const isFirst = ground.token === ''
  const settings = `backend: ${options.backend}\npool: {lease_timeout: ${options.leaseSeconds}, warm: 1}\n`
  // Written once: one that starts must not find it half written by another.
  const server = await startExecServer({ place, env, ...(isFirst ? { settings } : { token: ground.token }) })
  ground.token = server.token
  return server
}

/** Kills and stops one server after another; at least one is always left. */
async function makeTrouble(ground: Ground): Promise<{ readonly kills: number; readonly stops: number }> {
  const { options, chance, servers } = ground
  const until = performance.now() + options.durationMs
  const leaseMs = options.leaseSeconds * 1000
  const away = new Set<number>()
  const going: Promise<void>[] = []
  let [kills, stops] = [0, 0]
  const leave = async (index: number, how: 'kill' | 'stop'): Promise<void> => {
    const server = servers[index]
    if (server === undefined) return
    away.add(index)
    if (how === 'stop') {
      stops += 1
      process.kill(server.pid, 'SIGSTOP')
      // Some come back before anybody noticed, some when all they had is another's.
      await delay(chance.between(100, leaseMs * 2))
      process.kill(server.pid, 'SIGCONT')
    } else {
      kills += 1
      servers[index] = undefined
      await server.kill()
      await delay(chance.between(50, 1500))
      servers[index] = await start(ground).catch((error: unknown) => {
        ground.faults.push(`a server did not start again: ${String(error)}`)
        return undefined
      })
    }
    away.delete(index)
  }
  // On a busy machine it takes longer until somebody has been answered and something has been done.
  while (performance.now() < until || ground.answered.size === 0 || kills + stops === 0) {
    await delay(chance.between(200, Math.max(400, leaseMs / 2)))
    const present = servers.flatMap((server, index) => (server !== undefined && !away.has(index) ? [index] : []))
    if (present.length > 1) going.push(leave(chance.pick(present), chance.pick(['kill', 'stop', 'stop'] as const)))
  }
  await Promise.all(going)
  return { kills, stops }
}

/** One caller: a key, any server, a command that writes down what it does, sometimes a release. */
async function call(ground: Ground, caller: number): Promise<void> {
  const { options, chance, servers } = ground
  for (let count = 0; !ground.isOver; count += 1) {
    const index = chance.pick([...servers.keys()])
    const server = servers[index]
    if (server === undefined) {
      await delay(20)
      continue
    }
    const key = `key-${chance.between(0, options.keys - 1)}`
    const name = `c${caller}n${count}p${server.pid}`
    await useOnce(ground, server, { key, name }).catch((error: unknown) => noteTrouble(ground, server, error))
    await delay(chance.between(0, 60))
  }
}

/** Long enough to be cut off in the middle, and written in small appends, whose order in the file is the order in time. */
const command = (name: string): string =>
  `echo "${name} begin" >> journal; for i in 1 2 3 4 5 6; do sleep 0.05; echo "${name} $i" >> journal; done; echo "${name} end" >> journal`

interface Use {
  readonly key: string
  readonly name: string
}

async function useOnce(ground: Ground, server: ExecServer, { key, name }: Use): Promise<void> {
  const deadline = AbortSignal.timeout(ground.options.leaseSeconds * 4000 + 20_000)
  const ask = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown> | undefined> => {
    const response = await server.fetch(path, {
      method,
      signal: deadline,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await response.text()
    const told = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
    if (response.ok) return told
    refuse(ground, response.status, told, `${method} ${path}`)
    return undefined
  }
  const made = await ask('POST', '/sandboxes', { project: 'demo', key })
  if (made === undefined) return
  const id = String(made['id'])
  const ran = await ask('POST', `/sandboxes/${id}/commands`, { command: command(name), timeoutMs: 20_000 })
  const ended = ran?.['ended'] as { readonly by?: string } | undefined
  if (ran?.['exitCode'] === 0 && ended?.by === 'exit')
    ground.answered.set(key, [...(ground.answered.get(key) ?? []), name])
  else if (ran !== undefined) count(ground, `command ended by ${String(ended?.by)}`)
  if (ground.chance.between(0, 2) > 0) await ask('POST', `/sandboxes/${id}/release`)
}

/** While servers die and sandboxes change hands these are honest answers; a caller asks again. */
const honest = new Set([
  'BUSY',
  'LEASE_LOST',
  'SANDBOX_GONE',
  'CAPACITY_EXCEEDED',
  'NOT_FOUND',
  'DRAINING',
  'STORE_UNAVAILABLE',
  'CANCELLED',
  'TOO_MANY_REQUESTS',
])

function refuse(ground: Ground, status: number, told: Record<string, unknown>, what: string): void {
  const error = told['error'] as { readonly code?: string; readonly message?: string } | undefined
  const code = error?.code ?? String(status)
  count(ground, code)
  if (!honest.has(code)) ground.faults.push(`${what} was answered with ${status} ${code}: ${error?.message}`)
}

const count = (ground: Ground, what: string): void => void (ground.refusals[what] = (ground.refusals[what] ?? 0) + 1)

/** A connection that breaks is a server that was killed; one that hangs, a server that was stopped. */
function noteTrouble(ground: Ground, server: ExecServer, error: unknown): void {
  if (error instanceof SyntaxError) ground.faults.push(`an answer of ${server.pid} was no JSON`)
  count(ground, error instanceof Error ? error.name : 'trouble')
}

/** All servers are back. Every key is asked for once more, its journal is judged, and then everything is ended. One may have a sandbox
 * though no command of it was ever answered. */
async function settle(ground: Ground, tokens: TokenWatch): Promise<void> {
  const { options, place, faults } = ground
  const servers = ground.servers.filter((each) => each !== undefined)
  const keys = Array.from({ length: options.keys }, (_, index) => `key-${index}`)
  for (const key of keys) {
    const found = await insist(servers, key, options.leaseSeconds * 3000 + 20_000)
    if (found === undefined) {
      faults.push(`${key} could not be had in the end`)
      continue
    }
    const { id, server } = found
    const path = join(place, 'state', 'sandboxes', id, 'workspace', 'journal')
    const journal = existsSync(path) ? readFileSync(path, 'utf8') : ''
    faults.push(...judgeJournal(journal, ground.answered.get(key) ?? []).map((fault) => `${key}: ${fault}`))
    const ended = await server.ask('DELETE', `/sandboxes/${id}`)
    if (ended.status !== 204) faults.push(`${key} could not be ended: ${ended.status} ${ended.text}`)
  }
  await tokens.look()
  const codes = await Promise.all(servers.map((each) => each.stop()))
  if (codes.some((code) => code !== 0)) faults.push(`servers ended with ${codes.join(', ')}`)
  // What a killed server was just having made ends with its pipe, be it that the daemon began it later.
  const until = performance.now() + 30_000
  while (leftovers(ground).length > 0 && performance.now() < until) await delay(100)
  faults.push(...leftovers(ground))
}

/** One of them has it, or will have. */
async function insist(
  servers: readonly ExecServer[],
  key: string,
  patienceMs: number,
): Promise<{ readonly id: string; readonly server: ExecServer } | undefined> {
  const until = performance.now() + patienceMs
  while (performance.now() < until)
    for (const server of servers) {
      const made = await server.ask('POST', '/sandboxes', { body: { project: 'demo', key } })
      if (made.status < 300) return { id: (made.json as { readonly id: string }).id, server }
      await delay(100)
    }
  return undefined
}

/** Nothing of a sandbox that was ended, and nothing that was made ahead, is left: no directory, no container. */
function leftovers({ place, options }: Ground): readonly string[] {
  const listed = (directory: string): readonly string[] => {
    const path = join(place, 'state', directory)
    return existsSync(path) ? readdirSync(path).filter((name) => !name.startsWith('.openings')) : []
  }
  const directories = ['sandboxes', 'spares'].flatMap((name) => listed(name).map((each) => `${name}/${each} is left`))
  if (options.backend !== 'docker') return directories
  const installation = readFileSync(join(place, 'state', 'docker', 'installation'), 'utf8').trim()
  const filter = `label=dev.glovebox.installation=${installation}`
  const { stdout } = spawnSync('docker', ['ps', '--all', '--quiet', '--filter', filter], { encoding: 'utf8' })
  return [
    ...directories,
    ...stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((id) => `container ${id} is left`),
  ]
}
