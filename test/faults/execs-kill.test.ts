// kill -9 of the server. On bubblewrap nothing outlives it: what ran is lost, and is said to be. The full form is exec-kill.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ExecMeta } from '../../src/contract/exec-record.ts'
import { makePlace, shell, startExecServer } from '../fixtures/exec-server.ts'
import { killRound, survivors } from './killed-exec-server.ts'

const settings = [
  'sandbox: { max_concurrent_execs: 1 }',
  'vaults: { keys: { directory: keys } }',
  'policy: { ceilings: { secrets: [keys/token] } }',
  '',
].join('\n')

function placeWithVault(): string {
  const place = makePlace()
  mkdirSync(join(place, 'keys'))
  writeFileSync(join(place, 'keys', 'token'), 'a value that is long enough\n', { mode: 0o600 })
  return place
}

describe('a server that is killed', () => {
  it('what ran is LOST, what waited runs, and what had ended stays as it was', async () => {
    const first = await startExecServer({ place: placeWithVault(), settings })
    const asFile = {
      project_id: 'demo',
      exec: { kind: 'shell', command: 'cat /run/secrets/token', secrets: [{ name: 'keys/token', file: 'token' }] },
    }
    const done = await first.exec(asFile)
    expect(done).toMatchObject({ status: 'SUCCEEDED', env_keys: [] })
    const mark = `${31_000_000 + Math.floor(Math.random() * 1_000_000)}`
    const running = await first.begin(shell(`echo begun; sleep ${mark}`))
    await first.until(running.exec_id, ({ status }) => status === 'RUNNING')
    const log = join(first.workspace, running.stdout_path)
    while (readFileSync(log, 'utf8') !== 'begun\n') await new Promise((resolve) => setTimeout(resolve, 20))
    const waiting = await first.begin(shell('echo waited'))
    const secret = await first.begin({
      project_id: 'demo',
      exec: { kind: 'shell', command: 'echo $A', env: { A: 'b' } },
    })
    const secretFile = await first.begin(asFile)
    await first.kill()
    await expect.poll(() => survivors(`sleep\0${mark}`)).toEqual([])

    const second = await startExecServer({ place: first.place, settings })
    expect(await second.until(running.exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({
      status: 'LOST',
      error_reason: 'server_crash',
      exit_code: null,
    })
    expect(readFileSync(log, 'utf8')).toBe('begun\n')
    expect(await second.until(waiting.exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({
      status: 'SUCCEEDED',
    })
    for (const { exec_id } of [secret, secretFile])
      expect(await second.until(exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({
        status: 'FAILED',
        error_reason: 'environment_lost',
      })
    expect(await second.get(done.exec_id)).toEqual(done)
    const meta = JSON.parse(
      readFileSync(join(second.workspace, running.artifacts_dir, 'meta.json'), 'utf8'),
    ) as ExecMeta
    expect(meta.status).toBe('LOST')
    expect(await second.stop()).toBe(0)
    await second.remove()
  })

  it('what was kept of an output that is as long as may be is told to be cut only where more of it came', async () => {
    const first = await startExecServer()
    const running = await first.begin({
      ...shell(`printf 'twelve bytes'; printf 'twelve bytes and more' >&2; sleep 600`),
      policy_overrides: { max_stdout_bytes: 12, max_stderr_bytes: 12 },
    })
    const sizeOf = (path: string): number => statSync(join(first.workspace, path), { throwIfNoEntry: false })?.size ?? 0
    const { stdout_path, stderr_path, artifacts_dir } = running
    await expect.poll(() => [stdout_path, stderr_path].map(sizeOf)).toEqual([12, 12])
    const noted = join(first.workspace, artifacts_dir, '.stderr-cut')
    await expect.poll(() => existsSync(noted)).toBe(true)
    await first.kill()
    const second = await startExecServer({ place: first.place })
    try {
      const lost = await second.until(running.exec_id, ({ ended_at }) => ended_at !== null)
      expect(lost).toMatchObject({ status: 'LOST', stdout_truncated: false, stderr_truncated: true })
      expect([stdout_path, stderr_path].map(sizeOf)).toEqual([12, 12])
      expect(existsSync(noted)).toBe(false)
    } finally {
      await second.remove()
    }
  })

  it.each([40, 150, 300, 600])(
    'after %i ms: what was answered is there, once, and every end is true or LOST',
    async (afterMs) => {
      const round = await killRound(afterMs)
      expect(round.faults).toEqual([])
      expect(Object.values(round.statuses).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(
        round.answered.length,
      )
    },
  )

  it('a second server on the same data leaves what the first has alone', async () => {
    const first = await startExecServer()
    const running = await first.begin(shell('while [ ! -e go ]; do sleep 0.05; done; echo mine'))
    await first.until(running.exec_id, ({ status }) => status === 'RUNNING')
    const second = await startExecServer({ place: first.place })
    expect((await second.get(running.exec_id)).status).toBe('RUNNING')
    writeFileSync(join(first.workspace, 'projects', 'demo', 'work', 'go'), '')
    const other = await second.begin(shell('sleep 20'))
    await second.until(other.exec_id, ({ status }) => status === 'RUNNING')
    // Either of them may have it; asked of the other one, it ends all the same.
    const owner = [first, second]
    for (const server of owner) await server.ask('POST', `/sandbox/execs/${other.exec_id}/cancel`)
    expect(await first.until(other.exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({ status: 'CANCELLED' })
    expect(await second.until(running.exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({
      status: 'SUCCEEDED',
    })
    await second.stop()
    await first.stop()
    await first.remove()
  })
})
