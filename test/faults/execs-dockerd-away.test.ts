// The Docker daemon hangs, or is gone for a while, under execs that run. What must end ends, without the daemon if need be; what ended by
// itself has its true end; what never began is told as that, and holds no place; and nothing else on the server waits for the daemon.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecHealth, ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { isLongForm } from '../fixtures/cases.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { dockerHasRuntime, execTarget, runscImage } from './exec-targets.ts'
import { ended, textOf, until } from './lasting-execs.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const image = 'glovebox/sandbox:latest'
const missing = reasonWithout(image)
const canRun = missing === undefined || isRequired('dockerd')
const hasGvisor = (dockerHasRuntime('runsc') && reasonWithout(runscImage) === undefined) || isRequired('docker-runsc')

/** A guest that shows that it runs, under a name of its own. */
const beating = (name: string) => shell(`while :; do date +%s%N >beat-${name}; sleep 0.05; done`)
const beatOf = ({ workspace }: ExecServer, name: string): string =>
  join(workspace, 'projects/demo/work', `beat-${name}`)

async function begin(server: ExecServer, name: string, more: object = {}): Promise<string> {
  const { exec_id } = await server.begin({ ...beating(name), ...more })
  await until(() => existsSync(beatOf(server, name)))
  return exec_id
}

async function beats(server: ExecServer, name: string): Promise<boolean> {
  const last = readFileSync(beatOf(server, name), 'utf8')
  await pause(1500)
  return readFileSync(beatOf(server, name), 'utf8') !== last
}

describe.skipIf(!canRun)('execs under a daemon that hangs', () => {
  let daemon: PrivateDockerd
  let server: ExecServer
  beforeAll(async () => {
    daemon = await privateDockerd([image])
    const flags = ['--backend', 'docker', '--backend', 'bwrap']
    const settings = 'sandbox:\n  max_concurrent_execs: 3\n'
    server = await startExecServer({ flags, settings, env: { DOCKER_HOST: daemon.host } })
  })
  afterAll(async () => {
    daemon.signal('SIGCONT')
    await server.stop()
    await server.remove()
    await daemon.remove()
  })

  it('end at their time, however long it hangs; what has not begun is told so and holds no place; and nothing else waits for it', async () => {
    const { json: sandboxed } = await server.ask('POST', '/sandboxes', { body: { key: 'before', backend: 'docker' } })
    const ran = await server.begin(shell('echo begun; while [ ! -e ran ]; do sleep 0.05; done; echo over; exit 7'))
    await until(() => textOf(server, ran.stdout_path) === 'begun\n')
    const late = await begin(server, 'late', { policy_overrides: { timeout_ms: 3000 } })
    daemon.signal('SIGSTOP')
    const hangsFor = pause(45_000)
    tell(server, 'ran')
    const refused = { status: 'FAILED', error_reason: 'backend_unavailable', exit_code: null }
    const unbegun = shell('echo never >never')
    // Of three places one is left for them: what has begun holds the others until its end is known.
    const waited = await Promise.all([server.begin(unbegun), server.begin(unbegun)])
    for (const { exec_id } of waited) expect(await server.until(exec_id, ended)).toMatchObject(refused)
    // It is known now, so that nobody waits: not for the daemon, nor in vain for a place.
    for (const exec of await Promise.all(Array.from({ length: 6 }, () => server.exec(unbegun)))) {
      expect(exec).toMatchObject(refused)
      expect(exec.duration_ms).toBeLessThan(4000)
    }
    expect(await answerOf('POST', '/sandboxes', { key: 'refused', backend: 'docker' })).toBe('503 BACKEND_UNAVAILABLE')
    const commands = `/sandboxes/${(sandboxed as { id: string }).id}/commands`
    expect(await answerOf('POST', commands, { command: 'echo never >never' })).toBe('503 BACKEND_UNAVAILABLE')
    expect((await server.ask('GET', '/readyz')).status).toBe(503)
    expect(await server.get(ran.exec_id)).toMatchObject({ status: 'RUNNING' })

    // Ended without the daemon's help.
    await expect.poll(() => beats(server, 'late'), { timeout: 40_000 }).toBe(false)

    const sandbox = await server.ask('POST', '/sandboxes', { body: { key: 'beside', backend: 'bwrap' } })
    const { id } = sandbox.json as { id: string }
    const said = await server.ask('POST', `/sandboxes/${id}/commands`, { body: { command: 'echo beside' } })
    expect(said.json).toMatchObject({ stdout: 'beside\n' })

    const healthOf = async (): Promise<ExecHealth> => {
      const asked = performance.now()
      const { json } = await server.ask('GET', '/sandbox/health')
      expect(performance.now() - asked).toBeLessThan(20_000)
      return json as ExecHealth
    }
    const health = await healthOf()
    expect(health.status).toBe('degraded')
    expect(health.backends).toMatchObject([
      { name: 'docker', available: false, reason: expect.stringContaining('does not answer') },
      { name: 'bwrap', available: true },
    ])
    await hangsFor
    daemon.signal('SIGCONT')
    expect(await server.until(late, ended)).toMatchObject({ status: 'TIMEOUT', exit_code: null })
    expect(await server.until(ran.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    expect(textOf(server, ran.stdout_path)).toBe('begun\nover\n')
    await expect.poll(async () => (await server.ask('GET', '/readyz')).status).toBe(200)
    await expect.poll(async () => (await healthOf()).status).toBe('ok')
    expect(await server.exec(shell('echo after; [ ! -e never ]'))).toMatchObject({ status: 'SUCCEEDED' })
    expect(await server.ask('POST', commands, { body: { command: 'echo after' } })).toMatchObject({
      json: { stdout: 'after\n' },
    })
    await server.ask('DELETE', `/sandboxes/${(sandboxed as { id: string }).id}`)
    await until(() => daemon.docker('ps', '-aq').trim() === '')
  })

  const answerOf = async (method: string, path: string, body: unknown): Promise<string> => {
    const { status, json } = await server.ask(method, path, { body })
    return `${status} ${(json as { error?: { code: string } }).error?.code}`
  }
})

// A daemon of its own takes a while to come; gVisor's part is in `script/campaign dockerd-away`.
describe.skipIf(!canRun).each(hasGvisor && isLongForm ? ['docker', 'docker-runsc'] : ['docker'])(
  'execs of %s while their daemon is away',
  (name) => {
    let daemon: PrivateDockerd
    let server: ExecServer
    beforeAll(async () => {
      daemon = await privateDockerd([name === 'docker' ? image : runscImage])
      server = await startExecServer({ ...execTarget(name).options, env: { DOCKER_HOST: daemon.host } })
    })
    afterAll(async () => {
      await server.stop()
      await server.remove()
      await daemon.remove()
    })

    it('what is called LOST, cancelled or too late does not go on running, and what never began is not LOST', async () => {
      const lost = await begin(server, 'lost')
      const cancelled = await begin(server, 'cancelled')
      const late = await begin(server, 'late', { policy_overrides: { timeout_ms: 15_000 } })
      await daemon.kill('SIGKILL')

      const unbegun = await server.exec(shell('echo never'))
      expect(unbegun).toMatchObject({ status: 'FAILED', error_reason: 'backend_unavailable', exit_code: null })

      await server.ask('POST', `/sandbox/execs/${cancelled}/cancel`)
      expect(await server.until(cancelled, ended)).toMatchObject({ status: 'CANCELLED' })
      expect(await beats(server, 'cancelled')).toBe(false)
      expect(await server.until(late, ended)).toMatchObject({ status: 'TIMEOUT' })
      expect(await beats(server, 'late')).toBe(false)

      // Control: nobody has ended it, so that its end may still be learnt.
      expect([await beats(server, 'lost'), (await server.get(lost)).status]).toEqual([true, 'RUNNING'])
      await daemon.start()
      expect(await server.until(lost, ended)).toMatchObject({ status: 'LOST', exit_code: null })
      await expect.poll(() => beats(server, 'lost')).toBe(false)
      await until(() => daemon.docker('ps', '-aq').trim() === '')
    })
  },
)

describe.skipIf(!canRun)('execs that their daemon restores', () => {
  let daemon: PrivateDockerd
  let server: ExecServer
  beforeAll(async () => {
    daemon = await privateDockerd([image], { liveRestore: true })
    server = await startExecServer({ ...execTarget('docker').options, env: { DOCKER_HOST: daemon.host } })
  })
  afterAll(async () => {
    await server.stop()
    await server.remove()
    await daemon.remove()
  })

  it('have their true end and all of their output, whether they ended while it was away or after', async () => {
    const begun = await Promise.all([counting(server, 'away', 9), counting(server, 'after', 7)])
    for (const { stdout_path } of begun) await until(() => textOf(server, stdout_path).includes('line 20\n'))
    const [away, after] = begun
    await daemon.kill('SIGKILL')
    await pause(1000)
    tell(server, 'away')
    await pause(1000)
    await daemon.start()
    const heard = textOf(server, after.stdout_path).length
    await until(() => textOf(server, after.stdout_path).length > heard)
    tell(server, 'after')
    for (const [{ exec_id }, code] of [[away, 9] as const, [after, 7] as const]) {
      const end = await server.until(exec_id, ended)
      expect(end).toMatchObject({ status: 'FAILED', exit_code: code, error_reason: 'exit_nonzero' })
      const lines = textOf(server, end.stdout_path).split('\n')
      const count = Number(/^(\d+) in all$/.exec(lines.at(-2) ?? '')?.[1])
      expect(count).toBeGreaterThan(20)
      expect(lines.slice(0, -2)).toEqual(Array.from({ length: count }, (_, index) => `line ${index + 1}`))
      expect(textOf(server, end.stderr_path)).toBe(lines.slice(0, -2).join('\n').replaceAll('line', 'error') + '\n')
    }
    await until(() => daemon.docker('ps', '-aq').trim() === '')
  })
})

/** Says one line after another on both outputs until it is told to end, and then how many there were. */
const counting = (server: ExecServer, name: string, code: number): Promise<ExecRecord> =>
  server.begin(
    shell(
      `i=0; while [ ! -e ${name} ]; do i=$((i+1)); echo "line $i"; echo "error $i" >&2; sleep 0.02; done; echo "$i in all"; exit ${code}`,
    ),
  )
const tell = ({ workspace }: ExecServer, name: string): void =>
  writeFileSync(join(workspace, 'projects/demo/work', name), '')
