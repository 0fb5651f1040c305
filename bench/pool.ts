// What it costs to get a sandbox that is already there: one that was parked under its key, one that was made ahead for nobody in
// particular, on bwrap and docker; and over HTTP, alone and a hundred at once.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openPool, type BenchPool } from './pool/in-process.ts'
import { burst, createAndRun } from './pool/over-http.ts'
import { furnish, guestsOwn } from '../src/runtime/pool/furnish.ts'
import { interleave, round } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { rawBwrap } from './raw-bwrap.ts'
import { rawShell } from './raw-shell.ts'
import { atMost, type Result } from './result.ts'
import { serve, type Served } from './served.ts'

const run = promisify(execFile)
const command = ['/bin/true'] as const
const image = 'glovebox/sandbox:latest'
const rounds = 40
/** Of a process that has just started, and of one that has done it often enough for its code to be compiled, as a server in use has. */
const warmUp = { fresh: 5, used: 60 } as const

export async function poolBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  return [...(await onBwrap(place)), ...(await onDocker(place))]
}

export async function poolHttpBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  return [...(await overHttp(place)), ...(await crowds(place))]
}

const idle = 500

/** In a process of its own, since the memory of other benches would hide it. */
export async function poolIdleBench(): Promise<readonly Result[]> {
  using place = openPlace()
  const program = fileURLToPath(new URL('pool/idle-host.ts', import.meta.url))
  const runner = fileURLToPath(new URL('../script/run-typescript.mjs', import.meta.url))
  const directory = place.directory('idle')
  const args = [runner, program, directory, String(idle)]
  const env = { ...process.env, GLOVEBOX_STATE_DIR: place.directory('idle-state') }
  const { stdout } = await run(process.execPath, args, { env, maxBuffer: 1024 * 1024 })
  const figures = JSON.parse(stdout) as Readonly<Record<'kibEach', number>>
  const each = Math.round(figures.kibEach)
  return [
    atMost({
      name: `memory of our process for each of ${idle} idle sandboxes`,
      promise: '≤ 100 KB',
      measured: each,
      limit: 100_000 / 1024,
      unit: 'KiB',
      figures,
    }),
  ]
}

async function onBwrap(place: Place): Promise<readonly Result[]> {
  await using pool = await openPool(place, { backend: 'bwrap', warm: 1 })
  const workspace = place.directory('workspace')
  // With the walls of a sandbox of the pool, which are fewer than those around somebody's project.
  furnish(workspace, { withHome: true })
  const raw = await rawBwrap(place, workspace, command, [guestsOwn])
  await pool.acquire('parked')
  await pool.run('parked')
  const claim = claimer(pool)
  // The least that a command in a shell can take on this machine and day, with nothing around it.
  using shell = rawShell()
  const prepare = async (name: 'parked' | 'ahead' | 'command' | 'raw' | 'shell'): Promise<void> => {
    if (name === 'ahead') await claim.refill()
    if (name === 'parked') await pool.release('parked')
  }
  // What the one before has left to be done is done by then; and a virtual machine's processors have gone to sleep, which all of them pay for.
  const afterPause: typeof prepare = async (name) => {
    await prepare(name)
    await delay(5)
  }
  const contestants = {
    async parked() {
      await pool.acquire('parked')
      await pool.run('parked')
    },
    ahead: () => claim.next({ andRun: true }),
    command: () => pool.run('parked'),
    raw,
    shell: shell.run('/bin/true'),
  }
  const fresh = await interleave(contestants, rounds, warmUp.fresh, afterPause)
  const times = await interleave(contestants, rounds, warmUp.used, afterPause)
  const inSuccession = await interleave(contestants, rounds, warmUp.fresh, prepare)
  const { parked, ahead, command: warm, raw: bare } = times
  return [
    ratio('warm acquire and first command ÷ raw bwrap', 0.3, parked.medianMs / bare.medianMs, { ...times, fresh }),
    milliseconds('warm acquire and first command, in succession', 2, inSuccession.parked.medianMs, inSuccession),
    milliseconds('warm acquire and first command, after a pause', 2, parked.medianMs, {
      parked,
      shell: times.shell,
      fresh: { parked: fresh.parked, shell: fresh.shell },
    }),
    ratio('acquire of one made ahead and first command ÷ raw bwrap', 0.3, ahead.medianMs / bare.medianMs, {
      ahead,
      raw: bare,
    }),
    ratio('warm command ÷ raw bwrap', 0.25, warm.medianMs / bare.medianMs, { command: warm, raw: bare }),
  ]
}

async function onDocker(place: Place): Promise<readonly Result[]> {
  await using pool = await openPool(place, { backend: 'docker', warm: 1 })
  const claim = claimer(pool)
  const times = await interleave(
    {
      ahead: () => claim.next({ andRun: false }),
      run: async () => void (await run('docker', ['run', '--rm', '--network=none', image, ...command])),
    },
    12,
    2,
    async (name) => {
      if (name === 'ahead') await claim.refill()
      else await pool.filled()
      await delay(50)
    },
  )
  return [ratio('warm acquire on docker ÷ docker run', 0.05, times.ahead.medianMs / times.run.medianMs, times)]
}

/** Takes one that was made ahead under a new key each time; what was taken before is ended outside of the time that counts. */
function claimer(pool: BenchPool): { refill(): Promise<void>; next(how: { readonly andRun: boolean }): Promise<void> } {
  let held: string | undefined
  return {
    async refill() {
      if (held !== undefined) await pool.destroy(held)
      held = undefined
      await pool.filled()
    },
    async next({ andRun }) {
      held = `claim-${randomUUID()}`
      await pool.acquire(held)
      if (andRun) await pool.run(held)
    },
  }
}

const servedWith = (place: Place, name: string, warm: number): Promise<Served> => {
  writeFileSync(join(place.directory(name), 'glovebox.yaml'), `pool: {warm: ${warm}}\n`, { mode: 0o600 })
  return serve(place, name)
}

async function overHttp(place: Place): Promise<readonly Result[]> {
  await using none = await servedWith(place, 'cold', 0)
  await using some = await servedWith(place, 'warm', 2)
  using cold = createAndRun(none)
  using warm = createAndRun(some)
  const servers = { cold, warm }
  const contestants = { cold: () => cold.once(), warm: () => warm.once() }
  const before = async (name: 'cold' | 'warm'): Promise<void> => {
    for (const each of Object.values(servers)) await each.clear()
    const until = performance.now() + refillMs
    while (performance.now() < until || !(await warm.areReady(2))) await servers[name].work()
  }
  const fresh = await interleave(contestants, rounds, warmUp.fresh, before)
  const times = { ...(await interleave(contestants, rounds, warmUp.used, before)), fresh }
  return [
    milliseconds('create to the first result over HTTP, none made ahead', 15, times.cold.medianMs, times),
    milliseconds('create to the first result over HTTP, one made ahead', 5, times.warm.medianMs, times),
  ]
}

/** A pool begins to make anew what was taken when nobody has asked for 50 ms; by then both servers have done so. */
const refillMs = 100

const crowd = 100

/** As an operator prepares for it, and with nothing prepared. */
async function crowds(place: Place): Promise<readonly Result[]> {
  const measure = async (name: string, warm: number) => {
    await using server = await servedWith(place, name, warm)
    return await burst(server, { count: crowd, ahead: warm })
  }
  const prepared = await measure('crowd-warm', crowd)
  const unprepared = await measure('crowd-cold', 0)
  const faults = [...prepared.faults, ...unprepared.faults]
  return [
    milliseconds(`${crowd} creates at once to their first results over HTTP, the median`, 350, prepared.medianMs, {
      prepared,
      unprepared,
    }),
    atMost({
      name: `errors of ${crowd} creates at once`,
      promise: '0',
      measured: faults.length,
      limit: 0,
      unit: 'count',
      figures: { first: faults.slice(0, 3) },
    }),
  ]
}

const ratio = (name: string, limit: number, measured: number, figures: Result['figures']): Result =>
  atMost({ name, promise: `≤ ${limit}`, measured: round(measured), limit, unit: 'ratio', figures })

const milliseconds = (name: string, limit: number, measured: number, figures: Result['figures']): Result =>
  atMost({ name, promise: `≤ ${limit} ms`, measured: round(measured), limit, unit: 'ms', figures })
