// kill -9 of the server with execs in containers: they go on, and the next server finds them again.
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { recordNames, type ExecMeta } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell } from '../fixtures/exec-server.ts'
import { containersAt, dockerHasImage, execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { itHidesTheEnvironment } from './hidden-environment.ts'
import { ended, itGoesOn, letGo, serversOn, textOf, until, untilGo } from './lasting-execs.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest')

describe.skipIf(!isHere && !isRequired('docker'))('execs in containers', () => {
  const start = serversOn(execTarget('docker'))
  itGoesOn(start)
  itHidesTheEnvironment(start)

  it('run as on any backend: kinds, ends, limits and records', async () => {
    const server = await start()
    const code = await server.exec({
      project_id: 'demo',
      exec: { kind: 'python', command: 'import sys; print(6*7); sys.exit(3)', env: { A: 'b' } },
    })
    expect(code).toMatchObject({ status: 'FAILED', exit_code: 3, backend: 'docker' })
    expect(textOf(server, code.stdout_path)).toBe('42\n')
    const id = await server.exec(
      shell(
        'id -u; pwd; echo $HOME; touch ~/x $TMPDIR/y; ls -A /workspace/artifacts; echo kept > /workspace/artifacts/a; touch /workspace/inputs/x 2>/dev/null || echo read-only',
      ),
    )
    expect(textOf(server, id.stdout_path)).toMatch(/^1000\n\/workspace\/work\n\/home\/agent\n[^]*read-only\n$/)
    expect(readdirSync(join(server.workspace, id.artifacts_dir, 'files'))).toEqual(['a'])
    expect(await server.exec({ ...shell('sleep 30'), policy_overrides: { timeout_ms: 1500 } })).toMatchObject({
      status: 'TIMEOUT',
    })
    const greedy = {
      project_id: 'demo',
      exec: { kind: 'python', command: 'x = bytearray(400 * 1024 * 1024)' },
      policy_overrides: { memory_mb: 64 },
    }
    expect(await server.exec(greedy)).toMatchObject({ status: 'OOM', exit_code: 137 })
    const long = await server.exec({
      ...shell('head -c 3000 /dev/zero | tr "\\0" x; exit 5'),
      policy_overrides: { max_stdout_bytes: 1000 },
    })
    expect(long).toMatchObject({ exit_code: 5, stdout_truncated: true, stderr_truncated: false })
    expect(textOf(server, long.stdout_path)).toBe('x'.repeat(1000))
    for (const [bytes, isCut] of [
      [1000, false],
      [1001, true],
    ] as const) {
      const exec = await server.exec({
        ...shell(`head -c ${bytes} /dev/zero | tr "\\0" x`),
        policy_overrides: { max_stdout_bytes: 1000 },
      })
      expect([bytes, exec.stdout_truncated]).toEqual([bytes, isCut])
      expect(textOf(server, exec.stdout_path)).toBe('x'.repeat(1000))
    }
    // Often, since what was begun for it is taken away while it is still being made.
    for (let times = 0; times < 20; times++) {
      const gone = await server.exec({ project_id: 'demo', exec: { kind: 'shell', command: 'pwd', cwd: 'not/there' } })
      expect(gone).toMatchObject({ status: 'FAILED', error_reason: 'not_found' })
    }
    await until(() => containersAt(server.place).length === 0)
    for (const image of ['--privileged', '-v/:/host', 'a b', 'a\nb', '$(id)', 'a@sha256:12', 'not/here:at-all']) {
      const answered = await server.ask('POST', '/sandbox/execs', { body: { ...shell('true'), image } })
      expect([image, answered.status, answered.json]).toEqual([
        image,
        400,
        expect.objectContaining({ error: expect.objectContaining({ code: 'INVALID_INPUT' }) }),
      ])
    }
  })

  it('use all that is theirs whatever the umask under which the server was started', async () => {
    const server = await start({ under: ['sh', '-c', 'umask 077; exec "$@"', 'sh'] })
    const { exec_id } = await server.exec({
      ...shell(
        'set -e; cat /workspace/inputs/a/b; ls -AR . >/dev/null; cp -R . ~/copy; echo x | tee own /workspace/artifacts/own',
      ),
      inputs: [{ path: 'a/b', content: 'input\n' }],
    })
    expect(await (await server.fetch(`/sandbox/execs/${exec_id}/stderr`)).text()).toBe('')
    expect(await (await server.fetch(`/sandbox/execs/${exec_id}/stdout`)).text()).toBe('input\nx\n')
  })

  it('are cancelled, and run out of their time, under the next server too', async () => {
    const first = await start()
    const cancelled = await first.begin(shell('sleep 60'))
    const late = await first.begin({ ...shell('sleep 60'), policy_overrides: { timeout_ms: 15_000 } })
    await until(() => containersAt(first.place).length === 2)
    await first.kill()
    const second = await start({ place: first.place })
    // A busy Docker may take longer to end it than an answer waits.
    expect((await second.ask('POST', `/sandbox/execs/${cancelled.exec_id}/cancel`)).status).toBe(200)
    expect(await second.until(cancelled.exec_id, ended)).toMatchObject({ status: 'CANCELLED' })
    expect(await second.until(late.exec_id, ended)).toMatchObject({ status: 'TIMEOUT' })
    await until(() => containersAt(second.place).length === 0)
  })

  it('count as running under the next server, and have its grace when it stops', async () => {
    const first = await start()
    const exec = await first.begin(shell(`echo begun; ${untilGo}; echo finished`))
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    await first.kill()
    const settings = 'sandbox:\n  max_concurrent_execs: 1\n'
    const flags = [...(execTarget('docker').options.flags ?? []), '--grace', '120s']
    const second = await start({ place: first.place, settings, flags })
    expect((await second.ask('GET', '/sandbox/health')).json).toMatchObject({ execs: { running: 1 } })
    expect((await second.ask('GET', '/metrics')).text).toContain('\nglovebox_execs_running 1\n')
    const next = await second.begin(shell('echo next'))
    const stopped = second.stop()
    await expect.poll(async () => (await second.fetch('/readyz', { token: null })).status).toBe(503)
    // Long enough for one that nobody waits for to be ended.
    await delay(2000)
    letGo(second)
    expect(await stopped).toBe(0)
    const meta = (of: { readonly artifacts_dir: string }): ExecMeta =>
      JSON.parse(textOf(second, `${of.artifacts_dir}/meta.json`)) as ExecMeta
    expect(meta(exec)).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    expect(textOf(second, exec.stdout_path)).toBe('begun\nfinished\n')
    // It had no place, and waits for a third one.
    expect(meta(next)).toMatchObject({ status: 'QUEUED', started_at: null })
  })

  it('hand loaders, hosts and contexts to the command alone, and never to docker', async () => {
    const server = await start()
    const env = {
      LD_PRELOAD: '/nowhere.so',
      NODE_OPTIONS: '--require=/nowhere.js',
      BASH_ENV: '/nowhere.sh',
      DOCKER_HOST: 'tcp://192.0.2.1:2375',
      DOCKER_CONTEXT: 'nowhere',
      HTTP_PROXY: 'http://192.0.2.1',
      GIT_SSH_COMMAND: 'false',
    }
    const names = Object.keys(env).join('|')
    const exec = await server.exec({
      project_id: 'demo',
      exec: { kind: 'shell', command: `env | grep -cE '^(${names})='`, env },
    })
    expect([exec.status, textOf(server, exec.stdout_path)]).toEqual(['SUCCEEDED', `${Object.keys(env).length}\n`])
  })

  it('keep their records out of the guest’s reach', async () => {
    const server = await start()
    const script = recordNames.flatMap((name) => [
      `ln -s /etc/passwd /workspace/artifacts/${name}`,
      `echo forged > /workspace/artifacts/../${name}`,
      `ln /workspace/work/own /workspace/artifacts/own`,
    ])
    const exec = await server.exec(shell(['echo x > own', ...script, 'echo true output'].join('\n')))
    expect(exec.status).toBe('SUCCEEDED')
    expect(textOf(server, exec.stdout_path)).toBe('true output\n')
    for (const name of recordNames) {
      const stats = lstatSync(join(server.workspace, exec.artifacts_dir, name))
      expect([name, stats.isFile(), stats.nlink]).toEqual([name, true, 1])
      // Control: what the guest put under the name is there, one directory below.
      expect(lstatSync(join(server.workspace, exec.artifacts_dir, 'files', name)).isSymbolicLink()).toBe(true)
    }
  })

  it('whose server was killed while it told the command have not half of it run', async () => {
    const first = await start()
    // More than the pipe between them takes at once.
    const env = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`A${index}`, 'y'.repeat(100_000)]))
    const exec = await first.begin({ project_id: 'demo', exec: { kind: 'shell', command: 'exit 3', env } })
    const spools = spoolsAt(first.place)
    const isBegun = (): boolean => spoolsIn(spools).some((name) => existsSync(join(spools, name, 'begun.json')))
    await until(isBegun)
    await new Promise((resolve) => setTimeout(resolve, 30))
    await first.kill()
    const second = await start({ place: first.place })
    const { error_reason, exit_code } = await second.until(exec.exec_id, ended)
    // It ran whole, or not at all; and without its environment it is not run again.
    expect(['exit_nonzero 3', 'environment_lost null', 'server_crash null']).toContain(`${error_reason} ${exit_code}`)
  })
})
