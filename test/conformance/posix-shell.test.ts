// A shell in a root without bash: the same loop in the plainest shell there is, on the bare host and with harmless commands only.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Process } from '../../src/contract/backend.ts'
import { openSpawner, type Spawner } from '../../src/process/spawn.ts'
import { openLiveShell, type LiveShell } from '../../src/shells/live.ts'
import { bootCommand } from '../../src/shells/script/boot.ts'

describe('a shell without bash', () => {
  let spawner: Spawner
  let live: LiveShell

  beforeAll(() => {
    spawner = openSpawner()
    const [file, ...args] = bootCommand({ alone: false, bashes: [] })
    const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }
    const child = spawner.spawnChild({ file, args, cwd: '/', env, stdin: 'pipe', detached: true })
    const exit = child.ended.then(({ code, signal }) => (code === null ? { signal: String(signal) } : { code }))
    const { stdin, stdout, stderr } = child
    const process: Process = { stdin, stdout, stderr, exit, kill: () => child.kill('SIGKILL') }
    live = openLiveShell(process)
  })
  afterAll(async () => {
    await live.close()
    spawner.close()
  })

  const run = async (command: string, timeoutMs?: number) => {
    let [stdout, stderr] = ['', '']
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => live.interrupt(), timeoutMs)
    const told = await live.run(command, {
      stdout: (chunk) => void (stdout += Buffer.from(chunk).toString()),
      stderr: (chunk) => void (stderr += Buffer.from(chunk).toString()),
    })
    clearTimeout(timer)
    return { ...told, stdout, stderr }
  }

  it('keeps directory, variables, functions and aliases', async () => {
    await run('cd /tmp; x="a  b"; greet() { echo hello; }; alias short="echo aliased"; umask 027')
    expect(await run('pwd; echo "$x"; greet; short; umask; (exit 3)')).toMatchObject({
      code: 3,
      state: 'kept',
      stdout: '/tmp\na  b\nhello\naliased\n0027\n',
    })
    expect((await run('echo $?')).stdout).toBe('3\n')
  })

  it('after exit it has all but functions and traps, and says so', async () => {
    await run('export Y="two\nlines"; readonly R=1; set -f')
    expect(await run('exit 9')).toMatchObject({ code: 9, state: 'half-rebuilt' })
    expect((await run('pwd; echo "$x"; echo "$Y"; short; umask; echo *; R=2')).stdout).toBe(
      '/tmp\na  b\ntwo\nlines\naliased\n0027\n*\n',
    )
    expect((await run('greet')).stderr).toContain('not found')
  })

  it('set -e, errors in the text, break and closed streams do not end it', async () => {
    expect(await run('set -e; false; echo no')).toMatchObject({ code: 1, stdout: '' })
    await run('set +e')
    expect(await run('echo "open')).toMatchObject({ code: 2, state: 'kept' })
    await run('break 9')
    await run('continue 9')
    expect(await run('exec >&- 2>&- <&-; (exit 4)')).toMatchObject({ code: 4 })
    expect(await run('echo "$x"')).toMatchObject({ stdout: 'a  b\n', state: 'kept' })
  })

  it('a command is ended on demand with what it started, and the shell is kept', async () => {
    expect(await run('sleep 30 & sleep 30; echo no', 200)).toMatchObject({ code: 124, stdout: '' })
    expect(await run('while :; do :; done', 200)).toMatchObject({ code: 124 })
    expect((await run('echo "$x"')).stdout).toBe('a  b\n')
  })
})
