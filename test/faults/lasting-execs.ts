// What holds of execs in containers whatever runs them: they go on without their server, and the next one finds them again.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ExecMeta } from '../../src/contract/exec-record.ts'
import {
  bytesOf,
  readEvents,
  shell,
  startExecServer,
  type ExecServer,
  type ServerOptions,
} from '../fixtures/exec-server.ts'
import { isGapless } from './exec-output.ts'
import { containersAt, spoolsAt, spoolsIn, type ExecTarget } from './exec-targets.ts'

export const ended = ({ ended_at }: { readonly ended_at: string | null }): boolean => ended_at !== null

export const textOf = (server: ExecServer, path: string): string => readFileSync(join(server.workspace, path), 'utf8')

export async function until(holds: () => boolean, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('not in time')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** How the command of this spool ended is written there. */
function hasStatus(place: string, spool: string): boolean {
  const file = join(spoolsAt(place), spool, 'status')
  return existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')
}

/** For a command: it waits for as long as whoever looks at it needs. */
export const untilGo = 'while [ ! -e go ]; do sleep 0.05; done'
export const letGo = ({ workspace }: ExecServer): void => writeFileSync(join(workspace, 'projects/demo/work/go'), '')

/** Servers of one file, which leave nothing behind after each of its tests. */
export function serversOn({ options }: ExecTarget): (more?: ServerOptions) => Promise<ExecServer> {
  const servers: ExecServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0).toReversed()) {
      await server.kill()
      if (!existsSync(server.place)) continue
      // It fails where one is just being removed, which is as good.
      spawnSync('docker', ['rm', '-f', ...containersAt(server.place)], { stdio: 'ignore' })
      await server.remove()
    }
  })
  return async (more = {}) => {
    const settings = `${options.settings ?? ''}${more.settings ?? ''}`
    const server = await startExecServer({ ...options, ...more, ...(settings === '' ? {} : { settings }) })
    servers.push(server)
    return server
  }
}

export type Start = ReturnType<typeof serversOn>

export function itGoesOn(start: Start): void {
  it('go on when the server is killed, and the next one has all of their output and their true end', async () => {
    const first = await start()
    const script = [
      'say() { for i in $(seq $1 $2); do echo "line $i"; echo "error $i" >&2; sleep 0.01; done; }',
      `say 1 30; ${untilGo}; rm go; say 31 60; echo $SECRET | wc -c; exit 42`,
    ].join('\n')
    const exec = await first.begin({
      project_id: 'demo',
      exec: { kind: 'shell', command: script, env: { SECRET: 'twelve chars' } },
    })
    const events = await readEvents(
      await first.fetch(`/sandbox/execs/${exec.exec_id}/stream`),
      (seen) => seen.length > 8,
    )
    // It runs for longer under this server than under the next one.
    const seen = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 4000))
    const ranMs = performance.now() - seen
    await first.kill()
    const stranger = await start()
    const theirs = await stranger.begin(shell('sleep 300'))
    await until(() => containersAt(stranger.place).length === 1)
    expect(containersAt(first.place)).toHaveLength(1)

    const second = await start({ place: first.place })
    expect((await second.get(exec.exec_id)).status).toBe('RUNNING')
    const following = second.fetch(`/sandbox/execs/${exec.exec_id}/stream`, {
      headers: { 'last-event-id': events.at(-1)?.id ?? '' },
    })
    letGo(second)
    const rest = await readEvents(await following)
    const end = await second.until(exec.exec_id, ended)
    expect(end).toMatchObject({ status: 'FAILED', exit_code: 42, error_reason: 'exit_nonzero' })
    expect(end.duration_ms).toBeGreaterThanOrEqual(Math.floor(ranMs))
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join('')
    expect(textOf(second, end.stdout_path)).toBe(`${lines}13\n`)
    expect(textOf(second, end.stderr_path)).toBe(lines.replaceAll('line', 'error'))
    expect(isGapless([...events, ...rest], 'stdout')).toBe(true)
    expect(bytesOf([...events, ...rest], 'stdout').toString()).toBe(`${lines}13\n`)
    const meta = JSON.parse(textOf(second, `${end.artifacts_dir}/meta.json`)) as ExecMeta
    expect(meta).toMatchObject({ status: 'FAILED', exit_code: 42 })
    await until(() => containersAt(second.place).length === 0)
    expect(readdirSync(join(second.workspace, 'projects/demo/work'))).toEqual(['.glovebox', 'glovebox.yaml'])
    await until(() => spoolsIn(spoolsAt(second.place)).length === 0)
    // Of another installation nothing was touched.
    expect(containersAt(stranger.place)).toHaveLength(1)
    expect((await stranger.get(theirs.exec_id)).status).toBe('RUNNING')
  })

  it('that end while no server is there have their true end, and what waited runs under the next', async () => {
    const settings = 'sandbox:\n  max_concurrent_execs: 1\n'
    const first = await start({ settings })
    const exec = await first.begin(shell(`echo begun; ${untilGo}; echo finished; exit 7`))
    const waiting = await first.begin({ ...shell('echo waited; exit 4'), policy_overrides: { timeout_ms: 50_000 } })
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    await first.kill()
    // Only now: on a busy machine it would else have ended before its server.
    letGo(first)
    await until(() => spoolsIn(spoolsAt(first.place)).some((name) => hasStatus(first.place, name)))
    const endedBefore = new Date().toISOString()
    const alone = 3000
    await new Promise((resolve) => setTimeout(resolve, alone))
    const second = await start({ place: first.place })
    const found = await second.until(exec.exec_id, ended)
    expect(found).toMatchObject({ status: 'FAILED', exit_code: 7 })
    const { started_at, ended_at, duration_ms } = found
    expect((ended_at ?? '') <= endedBefore && (ended_at ?? '') >= (started_at ?? ''), `${ended_at}`).toBe(true)
    // Counted on another clock, and from a little later.
    expect(Math.abs(Date.parse(ended_at ?? '') - Date.parse(started_at ?? '') - (duration_ms ?? 0))).toBeLessThan(alone)
    expect(textOf(second, exec.stdout_path)).toBe('begun\nfinished\n')
    const end = await second.until(waiting.exec_id, ended)
    expect(end).toMatchObject({ status: 'FAILED', exit_code: 4, policy_snapshot: { timeout_ms: 50_000 } })
    expect(end.policy_snapshot).toEqual(waiting.policy_snapshot)
  })

  it('that ended before their time was over have their true end, however late the next server comes', async () => {
    const first = await start()
    const exec = await first.begin(shell(`echo begun; ${untilGo}; echo finished; exit 7`))
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    await first.kill()
    letGo(first)
    await until(() => spoolsIn(spoolsAt(first.place)).some((name) => hasStatus(first.place, name)))
    // As if it had begun an hour earlier than it did.
    for (const name of spoolsIn(spoolsAt(first.place))) {
      const file = join(spoolsAt(first.place), name, 'begun.json')
      const begun = JSON.parse(readFileSync(file, 'utf8')) as { readonly uptimeMs: number }
      writeFileSync(file, JSON.stringify({ ...begun, uptimeMs: begun.uptimeMs - 3_600_000 }))
    }
    const second = await start({ place: first.place })
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    expect(textOf(second, exec.stdout_path)).toBe('begun\nfinished\n')
  })

  it('of which nobody holds the pipes any more are LOST, and nothing of them is left', async () => {
    const first = await start()
    const exec = await first.begin(shell('echo begun; sleep 60'))
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    const [spool = ''] = spoolsIn(spoolsAt(first.place))
    const { shell: holder } = JSON.parse(readFileSync(join(spoolsAt(first.place), spool, 'begun.json'), 'utf8')) as {
      shell: { pid: number }
    }
    await first.kill()
    process.kill(-holder.pid, 'SIGKILL')
    const second = await start({ place: first.place })
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'LOST', exit_code: null })
    await until(() => containersAt(second.place).length === 0)
  })
}
