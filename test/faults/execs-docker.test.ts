// kill -9 of the server with execs in containers: they go on, and the next server finds them again.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { recordNames, type ExecMeta } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import {
  readEvents,
  bytesOf,
  shell,
  startExecServer,
  type ExecServer,
  type ServerOptions,
} from '../fixtures/exec-server.ts'
import { isGapless } from './exec-output.ts'

function dockerHasImage(): boolean {
  try {
    execFileSync('docker', ['image', 'inspect', 'glovebox/sandbox:latest'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const isHere = dockerHasImage()
const flags = ['--backend', 'docker']
const servers: ExecServer[] = []
const start = async (options: ServerOptions = {}): Promise<ExecServer> => {
  const server = await startExecServer({ flags, ...options })
  servers.push(server)
  return server
}
const ended = ({ ended_at }: { readonly ended_at: string | null }): boolean => ended_at !== null
const until = async (holds: () => boolean): Promise<void> => {
  const deadline = performance.now() + 20_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('not in time')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
const containersOf = (server: ExecServer): readonly string[] => {
  const installation = readFileSync(join(server.place, 'state/docker/installation'), 'utf8').trim()
  const filter = `label=dev.glovebox.installation=${installation}`
  return execFileSync('docker', ['ps', '-a', '-q', '--filter', filter], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)
}
const textOf = (server: ExecServer, path: string): string => readFileSync(join(server.workspace, path), 'utf8')

describe.skipIf(!isHere && !isRequired('docker'))('execs in containers', () => {
  afterEach(async () => {
    for (const server of servers.splice(0).toReversed()) {
      await server.kill()
      if (!existsSync(server.place)) continue
      const left = containersOf(server)
      if (left.length > 0) execFileSync('docker', ['rm', '-f', ...left], { stdio: 'ignore' })
      server.remove()
    }
  })

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
    const gone = await server.exec({ project_id: 'demo', exec: { kind: 'shell', command: 'pwd', cwd: 'not/there' } })
    expect(gone).toMatchObject({ status: 'FAILED', error_reason: 'not_found' })
    await until(() => containersOf(server).length === 0)
  })

  it('go on when the server is killed, and the next one has all of their output and their true end', async () => {
    const first = await start()
    const script =
      'for i in $(seq 1 60); do echo "line $i"; echo "error $i" >&2; sleep 0.1; done; echo $SECRET | wc -c; exit 42'
    const exec = await first.begin({
      project_id: 'demo',
      exec: { kind: 'shell', command: script, env: { SECRET: 'twelve chars' } },
    })
    await until(() => textOf(first, exec.stdout_path).includes('line 10\n'))
    const events = await readEvents(
      await first.fetch(`/sandbox/execs/${exec.exec_id}/stream`),
      (seen) => seen.length > 8,
    )
    await first.kill()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(containersOf(first)).toHaveLength(1)

    const second = await start({ place: first.place })
    expect((await second.get(exec.exec_id)).status).toBe('RUNNING')
    const rest = await readEvents(
      await second.fetch(`/sandbox/execs/${exec.exec_id}/stream`, {
        headers: { 'last-event-id': events.at(-1)?.id ?? '' },
      }),
    )
    const end = await second.until(exec.exec_id, ended)
    expect(end).toMatchObject({ status: 'FAILED', exit_code: 42, error_reason: 'exit_nonzero' })
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join('')
    expect(textOf(second, end.stdout_path)).toBe(`${lines}13\n`)
    expect(textOf(second, end.stderr_path)).toBe(lines.replaceAll('line', 'error'))
    expect(isGapless([...events, ...rest], 'stdout')).toBe(true)
    expect(bytesOf([...events, ...rest], 'stdout').toString()).toBe(`${lines}13\n`)
    const meta = JSON.parse(textOf(second, `${end.artifacts_dir}/meta.json`)) as ExecMeta
    expect(meta).toMatchObject({ status: 'FAILED', exit_code: 42 })
    await until(() => containersOf(second).length === 0)
    expect(readdirSync(join(second.workspace, 'projects/demo/work'))).toEqual(['.glovebox', 'glovebox.yaml'])
    expect(readdirSync(join(second.place, 'state/docker/lasting'))).toEqual([])
  })

  it('that end while no server is there are found with their true end', async () => {
    const first = await start()
    const exec = await first.begin(shell('sleep 1; echo finished; exit 7'))
    await until(() => containersOf(first).length === 1)
    await first.kill()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    const second = await start({ place: first.place })
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    expect(textOf(second, exec.stdout_path)).toBe('finished\n')
  })

  it('are cancelled, and run out of their time, under the next server too', async () => {
    const first = await start()
    const cancelled = await first.begin(shell('sleep 60'))
    const late = await first.begin({ ...shell('sleep 60'), policy_overrides: { timeout_ms: 4000 } })
    await until(() => containersOf(first).length === 2)
    await first.kill()
    const second = await start({ place: first.place })
    expect((await second.ask('POST', `/sandbox/execs/${cancelled.exec_id}/cancel`)).json).toMatchObject({
      status: 'CANCELLED',
    })
    expect(await second.until(late.exec_id, ended)).toMatchObject({ status: 'TIMEOUT' })
    await until(() => containersOf(second).length === 0)
  })

  it('of which nobody holds the pipes any more are LOST, and nothing of them is left', async () => {
    const first = await start()
    const exec = await first.begin(shell('echo begun; sleep 60'))
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    const [spool = ''] = readdirSync(join(first.place, 'state/docker/lasting'))
    const { shell: holder } = JSON.parse(
      readFileSync(join(first.place, 'state/docker/lasting', spool, 'begun.json'), 'utf8'),
    ) as { shell: { pid: number } }
    await first.kill()
    process.kill(-holder.pid, 'SIGKILL')
    const second = await start({ place: first.place })
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'LOST', exit_code: null })
    await until(() => containersOf(second).length === 0)
  })

  it('of another installation are not touched', async () => {
    const other = await start()
    const exec = await other.begin(shell('sleep 3; echo mine'))
    await until(() => containersOf(other).length === 1)
    await other.kill()
    const server = await start()
    await server.exec(shell('true'))
    expect(containersOf(other)).toHaveLength(1)
    const again = await start({ place: other.place })
    expect(await again.until(exec.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED' })
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

  it('show no value of an environment in docker inspect, its labels, a command line or a file', async () => {
    const server = await start()
    const canary = `canary-${Math.random().toString(36).slice(2)}`
    const exec = await server.begin({
      project_id: 'demo',
      exec: { kind: 'shell', command: 'test -n "$TOKEN" && echo got it; sleep 2', env: { TOKEN: canary } },
    })
    await until(() => textOf(server, exec.stdout_path) === 'got it\n')
    const [container = ''] = containersOf(server)
    const told = execFileSync('docker', ['inspect', container], { encoding: 'utf8' })
    expect(told).not.toContain(canary)
    // Control: what docker is told is found there.
    expect(told).toContain('dev.glovebox.lasting')
    expect(told).toContain(exec.artifacts_dir)
    const found = execFileSync(
      'sh',
      [
        '-c',
        `grep -rlaF -- "$0" /proc/[0-9]*/cmdline ${server.place} 2>/dev/null | grep -v "^/proc/$$/" || true`,
        canary,
      ],
      { encoding: 'utf8' },
    )
    const others = found.split('\n').filter((path) => path !== '' && !isSearcher(path))
    expect(others).toEqual([])
    expect(await server.until(exec.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED', env_keys: ['TOKEN'] })
  })
})

/** The search has what it looks for in its own command line. */
function isSearcher(path: string): boolean {
  const [, pid] = /^\/proc\/(\d+)\/cmdline$/.exec(path) ?? []
  if (pid === undefined) return false
  try {
    return /grep|sh\0-c/.test(readFileSync(path, 'latin1'))
  } catch {
    return true
  }
}
