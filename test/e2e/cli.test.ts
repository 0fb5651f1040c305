import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Finished, makeProject, type Project, run, type StartOptions, start, until } from './command-line.ts'

let project: Project
beforeEach(() => {
  project = makeProject()
})
afterEach(() => project.remove())

const exec = (argv: readonly string[], options: Partial<StartOptions> = {}): Promise<Finished> =>
  run(['exec', ...argv], { cwd: project.directory, ...options })

/** Processes of this host whose arguments carry the mark. */
const alive = (mark: string): number =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(mark)
    } catch {
      return false
    }
  }).length

describe('exec passes the command through', () => {
  it('runs in /workspace, which is the current directory and writable', async () => {
    const done = await exec(['--', 'sh', '-c', 'pwd; echo made > inside.txt'])
    expect(done).toMatchObject({ code: 0, stdout: '/workspace\n' })
    expect(readFileSync(join(project.directory, 'inside.txt'), 'utf8')).toBe('made\n')
  })

  it('keeps stdout, stderr and the exit code apart', async () => {
    const done = await exec(['--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    expect(done).toMatchObject({ code: 7, stdout: 'out\n' })
    expect(done.stderr).toContain('err\n')
  })

  it('passes arguments as they are, with no shell between', async () => {
    const words = ['a b', '$HOME', '*', '"', "'", '', '--json', '--', 'ü\n']
    const done = await exec(['--', 'printf', '[%s]', ...words])
    expect(done.stdout).toBe(words.map((word) => `[${word}]`).join(''))
  })

  it('takes the command without "--" as well, and leaves its flags to it', async () => {
    expect(await exec(['echo', '--json', '-n', 'x'])).toMatchObject({ code: 0, stdout: '--json -n x\n' })
  })

  it('passes stdin when it is piped, whole and unchanged', async () => {
    const input = Buffer.alloc(300_000, 'abc\n')
    const done = await exec(['--', 'sh', '-c', 'wc -c'], { input })
    expect(done.stdout.trim()).toBe('300000')
  })

  it('gives end of file when there is no stdin', async () => {
    expect(await exec(['--', 'cat'])).toMatchObject({ code: 0, stdout: '' })
  })

  it('ends when the command does, though its stdin is still open', async () => {
    expect(await exec(['--', 'true'], { input: 'open' })).toMatchObject({ code: 0 })
  })

  it('sets variables by --env, and passes none of its own', async () => {
    const done = await exec(['--env', 'GREETING=hello there', '--', 'env'], { env: { MY_SECRET: 'hunter2' } })
    expect(done.stdout).toContain('GREETING=hello there\n')
    expect(done.stdout).not.toContain('hunter2')
  })

  it('starts in --cwd', async () => {
    mkdirSync(join(project.directory, 'deep/down'), { recursive: true })
    expect(await exec(['--cwd', '/workspace/deep/down', '--', 'pwd'])).toMatchObject({
      stdout: '/workspace/deep/down\n',
    })
  })

  it('shows mounts and nothing else when mounts are given', async () => {
    writeFileSync(join(project.directory, 'own.txt'), 'own')
    mkdirSync(join(project.outside, 'data'))
    writeFileSync(join(project.outside, 'data/given.txt'), 'given')
    const script = 'cat /data/given.txt; ls /workspace; echo x > /data/new'
    const done = await exec(['--mount', '/data=../data:ro', '--', 'sh', '-c', script])
    expect(done.stdout).toBe('given')
    expect(done.code).not.toBe(0)
    expect(existsSync(join(project.outside, 'data/new'))).toBe(false)
  })
})

describe('exec isolates', () => {
  it('from files of the host', async () => {
    const secret = join(project.outside, 'secret')
    writeFileSync(secret, 'the-secret', { mode: 0o644 })
    const done = await exec(['--', 'cat', secret])
    expect(done.code).toBe(1)
    expect(done.stdout + done.stderr).not.toContain('the-secret')
  })

  it('does not where the backend is local, and only then', async () => {
    const secret = join(project.outside, 'secret')
    writeFileSync(secret, 'the-secret', { mode: 0o644 })
    expect(await exec(['--backend', 'local', '--', 'cat', secret])).toMatchObject({ stdout: 'the-secret' })
  })
})

describe('exec ends as the shell world expects', () => {
  it('127 when the command is not found, 126 when it cannot be executed', async () => {
    expect((await exec(['--', 'no-such-command'])).code).toBe(127)
    writeFileSync(join(project.directory, 'plain.txt'), 'x', { mode: 0o644 })
    expect((await exec(['--', './plain.txt'])).code).toBe(126)
  })

  it('128+n when a signal ended it', async () => {
    expect((await exec(['--', 'sh', '-c', 'kill -TERM $$'])).code).toBe(143)
  })

  it('124 after --timeout, with the whole tree gone', async () => {
    const mark = `73${process.pid}1`
    const done = await exec(['--timeout', '500ms', '--', 'sh', '-c', `sleep ${mark} & sleep ${mark}`])
    expect(done.code).toBe(124)
    expect(done.stderr).toContain('glovebox: The command was ended after')
    await until('the tree is gone', () => alive(mark) === 0)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('on %s with %i, and the whole tree gone', async (signal, code) => {
    const mark = `74${process.pid}${code}`
    const { child, finished } = start(['exec', '--', 'sh', '-c', `sleep ${mark} & sleep ${mark}`], {
      cwd: project.directory,
    })
    await until('the command runs', () => alive(mark) > 0)
    child.kill(signal)
    expect((await finished).code).toBe(code)
    await until('the tree is gone', () => alive(mark) === 0)
  })

  it('125 for every failure of its own, with a hint', async () => {
    const misuse = await Promise.all([
      exec([]),
      exec(['--timeot', '1s', '--', 'true']),
      exec(['--timeout', '60', '--', 'true']),
      exec(['--backend', 'bwarp', '--', 'true']),
      exec(['--mount', '/data=/no/such/directory', '--', 'true']),
      exec(['--policy', 'missing.yaml', '--', 'true']),
      exec(['--cwd', 'missing', '--', 'true']),
    ])
    for (const done of misuse) {
      expect(done.code, done.stderr).toBe(125)
      expect(done.stdout).toBe('')
      expect(done.stderr).toMatch(/^glovebox: .+\n(detail: .+\n)*hint: .+\n$/)
    }
    expect(misuse[1]?.stderr).toContain('--timeout')
    expect(misuse[3]?.stderr).toContain('bwrap')
    expect(misuse[6]?.stderr).toContain('Cannot run in /workspace/missing: nothing is there')
  })

  it('quietly when the reader of its output goes away', async () => {
    const { child, finished } = start(['exec', '--', 'yes'], { cwd: project.directory })
    await until(
      'output comes',
      () => (child.stdout?.readableLength ?? 0) > 0 || (child.stdout?.readableFlowing ?? false),
    )
    child.stdout?.destroy()
    const done = await finished
    expect(done.code).toBe(141)
    expect(done.stderr).toBe('')
  })

  const told = /^glovebox: Cannot print everything: standard output took no more \(ENOSPC\), .+\nhint: .+\n$/

  it('with a word and not as a success when what it prints cannot be taken', async () => {
    const into = async (stream: 'stdout' | 'stderr', argv: readonly string[]) => {
      const full = openSync('/dev/full', 'w')
      const done = await run(argv, { cwd: project.directory, into: { [stream]: full } })
      closeSync(full)
      return done
    }
    const lost = await into('stdout', ['exec', '--', 'echo', 'lost'])
    expect([lost.code, lost.stderr]).toEqual([125, expect.stringMatching(told)])
    const endless = await into('stdout', ['exec', '--', 'yes'])
    expect([endless.code, endless.stderr]).toEqual([125, expect.stringMatching(told)])
    expect((await into('stderr', ['exec', '--', 'sh', '-c', 'echo lost >&2'])).code).toBe(125)
    expect((await into('stdout', ['--help'])).code).toBe(1)
    expect((await into('stdout', ['exec', '--', 'true'])).code, 'nothing was printed').toBe(0)
  })

  it('with the code of a command that had ended by itself before its output could not be taken', async () => {
    const mark = `76${process.pid}`
    const waits = 'echo > ready; until [ -e go ]; do sleep 0.02; done; echo lost; exit 3'
    const full = openSync('/dev/full', 'w')
    const { child, finished } = start(['exec', '--', 'sh', '-c', waits, mark], {
      cwd: project.directory,
      into: { stdout: full },
    })
    closeSync(full)
    await until('the command runs', () => existsSync(join(project.directory, 'ready')))
    // It reads nothing until all that it started has ended. Only it still has the mark then.
    child.kill('SIGSTOP')
    writeFileSync(join(project.directory, 'go'), '')
    await until('the command has ended', () => alive(mark) === 1)
    child.kill('SIGCONT')
    const { code, stderr } = await finished
    expect([code, stderr]).toEqual([3, expect.stringMatching(told)])
  })
})

describe('exec bounds its output', () => {
  it('shows up to --max-stdout, then says that it was cut', async () => {
    const done = await exec(['--max-stdout', '10', '--', 'sh', '-c', 'seq 100'])
    expect(done).toMatchObject({ code: 0, stdout: '1\n2\n3\n4\n5\n' })
    expect(done.stderr).toContain('stdout was cut')
  })

  it('keeps its deadline while nobody reads what it prints', async () => {
    const mark = `75${process.pid}`
    const argv = ['exec', '--timeout', '4s', '--max-stdout', '10m', '--', 'sh', '-c', `exec yes ${mark}`]
    const { child, finished } = start(argv, { cwd: project.directory })
    child.stdout?.pause()
    await until('the command runs', () => alive(mark) > 0)
    await until('the deadline has ended it', () => alive(mark) === 0)
    child.stdout?.resume()
    expect((await finished).code).toBe(124)
  })
})

describe('exec --json', () => {
  it('prints one object with exactly the promised fields', async () => {
    const done = await exec(['--json', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'])
    expect(done.code).toBe(3)
    expect(done.stderr).toBe('')
    const shown = JSON.parse(done.stdout) as Record<string, unknown>
    expect(Object.keys(shown)).toEqual([
      'ended',
      'exitCode',
      'stdout',
      'stderr',
      'stdoutTruncated',
      'stderrTruncated',
      'durationMs',
      'denials',
      'sandbox',
    ])
    expect(shown).toMatchObject({ ended: { by: 'exit', code: 3 }, exitCode: 3, stdout: 'out\n', stderr: 'err\n' })
    expect(Object.keys(shown['sandbox'] as object)).toEqual(['id', 'backend', 'enforced', 'notEnforced'])
    expect(shown['sandbox']).toMatchObject({ id: expect.stringMatching(/^sbx_/), backend: 'bwrap' })
  })

  it('prints one object for its own failures too', async () => {
    const done = await exec(['--json', '--memory', '512', '--', 'true'])
    expect(done.code).toBe(125)
    expect(JSON.parse(done.stdout)).toMatchObject({
      error: { code: 'INVALID_INPUT', hint: expect.stringContaining('512m') },
    })
  })
})

describe('the settings file', () => {
  it('is found upward and is named by explain', async () => {
    writeFileSync(join(project.outside, 'glovebox.yaml'), 'policy: { timeoutMs: 1234 }\nenv: { FROM_FILE: "yes" }\n')
    const shown = await run(['explain', '--json', '--pids', '99'], { cwd: project.directory })
    const { policy } = JSON.parse(shown.stdout) as { policy: { field: string; value: unknown; from: unknown }[] }
    const find = (field: string): unknown => policy.find((one) => one.field === field)
    expect(find('timeoutMs')).toMatchObject({ value: 1234, from: { layer: 'settings', source: 'glovebox.yaml' } })
    expect(find('pids')).toMatchObject({ value: 99, from: { layer: 'settings', source: '--pids' } })
    expect((await exec(['--', 'sh', '-c', 'echo $FROM_FILE'])).stdout).toBe('yes\n')
  })

  it('that is broken stops exec before anything runs', async () => {
    writeFileSync(join(project.directory, 'glovebox.yaml'), 'policy:\n  timoutMs: 5\n')
    const done = await exec(['--', 'sh', '-c', 'echo ran > ran.txt'])
    expect(done.code).toBe(125)
    expect(done.stderr).toContain(`${join(project.directory, 'glovebox.yaml')}:2:3`)
    expect(done.stderr).toContain('Did you mean "timeoutMs"?')
    expect(existsSync(join(project.directory, 'ran.txt'))).toBe(false)
  })

  it('can be neither changed nor made by the command', async () => {
    const script = 'echo "backend: local" > glovebox.yaml; rm -f glovebox.yaml; cat glovebox.yaml 2>/dev/null; true'
    await exec(['--', 'sh', '-c', script])
    expect(existsSync(join(project.directory, 'glovebox.yaml'))).toBe(false)
    writeFileSync(join(project.directory, 'glovebox.yaml'), '{}\n')
    await exec(['--', 'sh', '-c', script])
    expect(readFileSync(join(project.directory, 'glovebox.yaml'), 'utf8')).toBe('{}\n')
  })
})

describe('explain', () => {
  it('shows every policy field, what is enforced and the plan, and runs nothing', async () => {
    const done = await run(['explain', '--', 'touch', 'ran.txt'], { cwd: project.directory })
    expect(done.code).toBe(0)
    for (const words of [
      'Backend',
      'bwrap',
      'timeoutMs',
      'Enforced',
      'network.none',
      'System-call filter',
      '--unshare-user',
      'touch ran.txt',
    ]) {
      expect(done.stdout).toContain(words)
    }
    expect(existsSync(join(project.directory, 'ran.txt'))).toBe(false)
  })
})

describe('doctor', () => {
  it('tries every backend for real and tells which isolates', async () => {
    const done = await run(['doctor', '--json'], { cwd: project.directory })
    expect(done.code, done.stdout).toBe(0)
    const { selected, usable, backends } = JSON.parse(done.stdout) as {
      selected: string
      usable: boolean
      backends: {
        name: string
        isolates: boolean
        usable: boolean
        trueMs?: number
        checks: { check: string; state: string }[]
      }[]
    }
    expect({ selected, usable }).toEqual({ selected: 'bwrap', usable: true })
    const bwrap = backends.find((one) => one.name === 'bwrap')
    expect(bwrap).toMatchObject({ isolates: true, usable: true, trueMs: expect.any(Number) })
    const states = Object.fromEntries(bwrap?.checks.map(({ check, state }) => [check, state]) ?? [])
    expect(states).toMatchObject({
      'bwrap denies reads': 'ok',
      'bwrap denies writes': 'ok',
      'bwrap blocks network': 'ok',
    })
    expect(backends.find((one) => one.name === 'local')).toMatchObject({ isolates: false, usable: true })
  })

  it('prints a table without colour into a pipe, and says plainly what local is', async () => {
    const done = await run(['doctor'], { cwd: project.directory })
    expect(done.stdout).toMatch(/^check +state +detail/)
    expect(done.stdout).toContain('isolates nothing')
    expect(done.stdout).not.toContain('\u001b')
  })

  it('ends with 1 when the settings cannot be used', async () => {
    writeFileSync(join(project.directory, 'glovebox.yaml'), 'backend: [')
    const done = await run(['doctor'], { cwd: project.directory })
    expect(done.code).toBe(1)
    expect(done.stdout).toMatch(/settings +fail/)
  })
})

describe('what is not understood', () => {
  it.each([
    [['exec', '--json', '--bogus'], 125],
    [['exec', '--json', '--timeot', '1s', '--', 'true'], 125],
    [['token', 'create', '--json'], 2],
    [['token', 'list', '--json', 'more'], 2],
    [['--json', 'nosuch'], 2],
  ] as const)('%j is told as JSON where JSON was asked for', async (argv, code) => {
    const done = await run(argv, { cwd: project.directory })
    const told = JSON.parse(done.stdout) as { readonly error: { readonly message: string; readonly hint: string } }
    expect([done.code, told]).toEqual([
      code,
      { error: { code: 'INVALID_INPUT', message: expect.any(String), hint: expect.any(String) } },
    ])
    expect(done.stderr).toBe(`glovebox: ${told.error.message}\nhint: ${told.error.hint}\n`)
  })
})

describe('help', () => {
  it('shows examples first, for the program and for each command', async () => {
    for (const argv of [
      ['--help'],
      ['exec', '--help'],
      ['explain', '--help'],
      ['doctor', '--help'],
      ['help', 'exec'],
    ]) {
      const done = await run(argv, { cwd: project.directory })
      expect(done.code).toBe(0)
      expect(done.stdout).toMatch(/^Examples:\n {2}\$ glovebox /)
    }
  })

  it('knows the command that was meant', async () => {
    const done = await run(['exce'], { cwd: project.directory })
    expect(done).toMatchObject({ code: 2, stdout: '' })
    expect(done.stderr).toBe("glovebox: unknown command 'exce'\nhint: Did you mean exec?\n")
  })

  it('of a command that nobody knows is refused like the command itself', async () => {
    const done = await run(['help', 'exce'], { cwd: project.directory })
    expect(done).toMatchObject({ code: 2, stdout: '' })
    expect(done.stderr).toBe("glovebox: unknown command 'exce'\nhint: Did you mean exec?\n")
    expect(await run(['help', 'nosuch'], { cwd: project.directory })).toMatchObject({ code: 2, stdout: '' })
    expect(await run(['help'], { cwd: project.directory })).toMatchObject({ code: 0, stderr: '' })
  })

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    expect((await run(['--version'], { cwd: project.directory })).stdout).toBe(`${version}\n`)
  })
})
