// A run of fifty actions, repeated by the real command line in a real sandbox. The run itself is made through the built
// library, with an executor that mixes commands and file actions, some of which cannot come out the same twice.
import { execFile } from 'node:child_process'
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Assignment, Executor, Outcome } from '../../src/contract/executor.ts'
import type { OperatorPolicy } from '../../src/contract/policy.ts'
import type { MountRequest } from '../../src/runtime/mount-text.ts'
import type { ReplayReport } from '../../src/runtime/runs/replay.ts'
import { glovebox, makeProject, run, type Finished, type Project } from './command-line.ts'

const door = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href
const { startRun } = (await import(door('runtime/runs/start.js'))) as typeof import('../../src/runtime/runs/start.ts')
const { prepareFork } = (await import(door('runtime/runs/fork.js'))) as typeof import('../../src/runtime/runs/fork.ts')
const { verifyRun } = (await import(door('runs/verify.js'))) as typeof import('../../src/runs/verify.ts')

let project: Project
const stateBefore = process.env['GLOVEBOX_STATE_DIR']
beforeAll(() => {
  project = makeProject()
  process.env['GLOVEBOX_STATE_DIR'] = join(project.outside, 'state')
})
afterAll(() => {
  if (stateBefore === undefined) delete process.env['GLOVEBOX_STATE_DIR']
  else process.env['GLOVEBOX_STATE_DIR'] = stateBefore
  project.remove()
})

const refused = async (work: Promise<unknown>): Promise<void> => {
  await expect(work).rejects.toMatchObject({ name: 'GloveboxError' })
}

const deterministic = async ({ commands, files }: Assignment['sandbox']): Promise<void> => {
  for (let index = 1; index <= 20; index++) await commands.run(`echo line ${index} >>log.txt; wc -l log.txt`)
  await commands.run(['sort', '-r', 'log.txt'])
  await commands.run('cat "$GLOVEBOX_PROMPT_FILE"; id; uname -n; pwd; umask')
  await commands.run('cat', { stdin: 'given on standard input' })
  await commands.run('pwd', { cwd: '/tmp' })
  await commands.run('echo to stderr >&2; exit 3')
  await commands.run('cat /missing')
  await commands.run('seq 1 400000')
  await files.write('notes/a.txt', 'first\n')
  await files.write('notes/a.txt', 'second\n', { append: true })
  await files.write('notes/b.bin', Uint8Array.of(0, 255, 10, 13))
  await files.read('notes/a.txt')
  await files.readBytes('notes/b.bin')
  await files.list('notes')
  await files.grep('second')
  await files.glob('**/*.txt')
  await files.mkdir('empty')
  await files.rename('notes/b.bin', 'notes/c.bin')
  await refused(files.write('.git/hooks/post-commit', 'echo owned'))
  await refused(files.write('/etc/passwd', 'x'))
  await refused(files.read('nowhere.txt'))
  await refused(files.remove('notes/a.txt'))
  await refused(commands.run('true', { cwd: '/nowhere' }))
  await commands.run('cp log.txt /deliverables/; ln -s log.txt /deliverables/link; chmod 600 /deliverables/log.txt')
}

const momentary = async ({ commands }: Assignment['sandbox']): Promise<void> => {
  await commands.run('date +%N')
  await commands.run('date +%s | tee stamp')
  await commands.run('head -c 8 /dev/urandom | od -An -tx1 | tee token')
  await commands.run('cat token')
  await commands.run('echo "hello $WHO"', { env: { WHO: 'secret world' } })
  await commands.run('sleep 30', { timeoutMs: 300 })
  await Promise.all([commands.run('sleep 2; echo slow'), commands.run('echo quick')])
}

const executor = (work: (sandbox: Assignment['sandbox']) => Promise<void>): Executor => ({
  name: 'script',
  async execute({ sandbox }): Promise<Outcome> {
    await work(sandbox)
    return { status: 'completed', summary: 'All of it was done.' }
  },
})

interface Made {
  readonly settings?: OperatorPolicy
  readonly mounts?: readonly MountRequest[]
}

async function makeRun(name: string, work: (sandbox: Assignment['sandbox']) => Promise<void>, made: Made = {}) {
  const layers =
    made.settings === undefined ? [] : [{ layer: 'settings' as const, source: 'test', values: made.settings }]
  const { directory, record, error } = await startRun({
    prompt: 'Do what you are told.',
    executor: executor(work),
    config: { name },
    sandboxPath: join(project.directory, 'runs', name),
    sandbox: { layers, mounts: made.mounts ?? [] },
  })
  expect({ status: record.status, error }).toEqual({ status: 'completed', error: undefined })
  return directory
}

const replay = (...argv: readonly string[]): Promise<Finished> =>
  run(['runs', 'replay', ...argv], { cwd: project.directory })

const reportOf = ({ stdout }: Finished): ReplayReport => JSON.parse(stdout) as ReplayReport

/** Every name below a directory with all that a write would change; times of change cannot be set by anybody. */
function stateOf(directory: string): readonly string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted()
  return ['', ...names].map((name) => {
    const { ino, mode, size, mtimeNs, ctimeNs } = lstatSync(join(directory, name), { bigint: true })
    return [name, ino, mode, size, mtimeNs, ctimeNs].join(' ')
  })
}

describe('glovebox runs replay', () => {
  it('reproduces everything that is deterministic, and leaves a run that verifies', async () => {
    await makeRun('same', deterministic)
    const finished = await replay('same', '--sandbox', 'runs/same-again', '--json')
    const report = reportOf(finished)
    expect(report.comparisons.filter(({ result }) => result !== 'identical')).toEqual([])
    expect(report.artifactComparisons.filter(({ result }) => result !== 'identical')).toEqual([])
    expect(report).toMatchObject({
      ok: true,
      actions: { identical: 43, differs: 0 },
      remarks: [],
      notSupplied: [],
      replay: { status: 'completed' },
    })
    expect(report.artifacts.identical).toBeGreaterThan(5)
    expect(finished.code).toBe(0)
    expect(await verifyRun(join(project.directory, 'runs', 'same-again'))).toMatchObject({
      ok: true,
      status: 'completed',
    })
  })

  it('repeats fifty actions and names the first differing byte of each that cannot come out the same', async () => {
    await makeRun('mixed', async (sandbox) => {
      await deterministic(sandbox)
      await momentary(sandbox)
    })
    const finished = await replay('mixed', '--json')
    const report = reportOf(finished)
    expect(finished.code).toBe(1)
    const [date, seconds, random, read, hello] = report.comparisons.filter(({ result }) => result === 'differs')
    expect(report.actions).toEqual({ identical: 45, differs: 5, notComparable: 1, notRepeated: 0 })
    expect(date).toMatchObject({
      about: 'date +%N',
      differences: [{ part: 'stdout', cause: { kind: 'time', because: 'the command names date' } }],
    })
    expect(seconds?.differences[0]?.cause).toEqual({
      kind: 'time',
      because: 'each holds the time at which it was made',
    })
    expect(random?.differences[0]?.cause?.kind).toBe('random')
    expect(random?.differences[0]?.place?.original[0]).not.toBe(random?.differences[0]?.place?.replayed[0])
    expect(read?.differences[0]?.cause).toEqual({
      kind: 'earlier_difference',
      because: `the same two values differ in #${random?.number}`,
    })
    expect(hello).toMatchObject({
      notSupplied: ['WHO'],
      differences: [{ place: { offset: 6, before: 'hello ', original: 'secret world\\n', replayed: '\\n' } }],
    })
    expect(report.comparisons.find(({ result }) => result === 'not_comparable')?.reason).toBe('it ran out of time then')
    expect(report.comparisons.filter(({ overlapped }) => overlapped).map(({ about }) => about)).toEqual(['echo quick'])
    expect(report.artifactComparisons.filter(({ result }) => result === 'differs').map(({ path }) => path)).toEqual([
      'workspace/stamp',
      'workspace/token',
    ])
  })

  it('tells it to a person in a few lines, and takes values of variables', async () => {
    const { stdout, code } = await replay('mixed', '--sandbox', 'runs/told', '--env', 'WHO=secret world')
    expect(stdout).toMatch(/^46 of 51 actions identical; 4 differ; 1 not comparable\.\n/)
    expect(stdout).toMatch(
      /#\d+ date \+%N\n {4}stdout: differs at byte \d+ \(likely a time: the command names date\)\n/,
    )
    expect(stdout).toMatch(/\n {6}then {2}.*\n {6}now {3}.*\n +\^\n/)
    expect(stdout).toContain('seq 1 400000: the first 1048576 of 2688895 bytes of stdout')
    expect(stdout).not.toContain('Not supplied')
    expect(code).toBe(1)
  })

  it('refuses a variable that the run never had', async () => {
    const { code, stderr } = await replay('mixed', '--env', 'WH0=x')
    expect(stderr).toContain('it had no variable WH0')
    expect(code).toBe(2)
  })

  it('replays a replay', async () => {
    const finished = await replay('same-again', '--json')
    expect(finished.code).toBe(0)
    expect(reportOf(finished).actions.identical).toBe(43)
  })

  it('a replay never writes to the original', async () => {
    const original = join(project.directory, 'runs', 'same')
    const before = stateOf(original)
    expect(before.length).toBeGreaterThan(100)
    expect((await replay('same')).code).toBe(0)
    expect(stateOf(original)).toEqual(before)
  })

  describe('a damaged run is not replayed', () => {
    it.each([
      ['an output', 'logs/actions/000002/stdout'],
      ['a command', 'logs/actions/000002/action.json'],
      ['an artifact', 'workspace/log.txt'],
      ['the sandbox manifest', 'sandbox-manifest.json'],
      ['the log', 'events.jsonl'],
    ])('somebody changed %s', async (_what, path) => {
      const copy = join(project.directory, 'tampered', path.replaceAll('/', '-'))
      mkdirSync(join(copy, '..'), { recursive: true })
      cpSync(join(project.directory, 'runs', 'same'), copy, { recursive: true, verbatimSymlinks: true })
      const bytes = readFileSync(join(copy, path))
      const at = Math.floor(bytes.length / 2)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(join(copy, path), bytes)
      const { code, stdout, stderr } = await replay(copy, '--sandbox', 'never')
      expect(stderr).toContain('Cannot replay the run: it is not as it was recorded')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(readdirSync(project.directory)).not.toContain('never')
    })
  })

  it('works on a copy that was moved elsewhere', async () => {
    const copy = join(project.outside, 'elsewhere')
    cpSync(join(project.directory, 'runs', 'same'), copy, { recursive: true, verbatimSymlinks: true })
    expect((await replay(copy)).code).toBe(0)
  })

  it('gives a record neither higher limits nor host directories by itself, and all of it with --as-recorded', async () => {
    const data = join(project.outside, 'data')
    mkdirSync(data)
    writeFileSync(join(data, 'in.txt'), 'from the host\n')
    const mounts: readonly MountRequest[] = [{ guestPath: '/data', hostPath: data, mode: 'ro' }]
    const work = async ({ commands }: Assignment['sandbox']): Promise<void> => {
      await commands.run('cat /data/in.txt; echo x >/data/out.txt')
    }
    await makeRun('wide', work, { mounts, settings: { memoryMb: 6000 } })
    const alone = await replay('wide')
    expect(alone.stderr).toContain('memoryMb')
    expect(alone.code).toBe(1)
    const trusted = await replay('wide', '--as-recorded', '--json')
    expect(reportOf(trusted)).toMatchObject({
      actions: { identical: 1 },
      remarks: ['/data is a directory of the host, and is used as it is now'],
    })
    expect(trusted.code).toBe(0)
    await makeRun('mounted', work, { mounts })
    const other = await replay('mounted')
    expect(other.stderr).toContain('it had a directory of the host at /data')
    expect(other.code).toBe(1)
  })

  it('replays a fork from where it began, and refuses one whose origin is gone', async () => {
    await makeRun('origin', async ({ commands }) => {
      await commands.run('echo first >story.txt; mkdir d; touch d/x')
      await commands.run('echo second >>story.txt')
    })
    const { identity, directory } = await prepareFork({
      directory: join(project.directory, 'runs', 'origin'),
      sandboxPath: join(project.directory, 'runs', 'branch'),
      at: { action: 1 },
    })
    const { record } = await startRun({
      ...identity,
      sandboxPath: directory,
      config: { name: 'branch' },
      sandbox: { layers: [] },
      executor: executor(async ({ commands }) => {
        await commands.run('cat story.txt; ls -R')
        await commands.run('echo otherwise >>story.txt; rm d/x')
      }),
    })
    expect(record.status).toBe('completed')
    const report = reportOf(await replay('branch', '--json'))
    expect(report).toMatchObject({ ok: true, actions: { identical: 2 }, artifacts: { identical: 2 } })
    renameSync(join(project.directory, 'runs', 'origin'), join(project.directory, 'moved'))
    const refusal = await replay('branch')
    expect(refusal.stderr).toMatch(/Cannot replay the run: .*(?:is gone|it is not as it was recorded)/)
    expect(refusal.code).toBe(1)
  })

  it('refuses to put the replay inside the original', async () => {
    const { stderr, code } = await replay('same', '--sandbox', 'runs/same/workspace/inner')
    expect(stderr).toContain('would lie inside the original')
    expect(code).toBe(2)
  })

  it('does what its example shows', async () => {
    const place = join(project.outside, 'example')
    const programs = join(project.outside, 'programs')
    for (const directory of [place, programs]) mkdirSync(directory)
    symlinkSync(glovebox, join(programs, 'glovebox'))
    const script = fileURLToPath(new URL('../../examples/replay/run-and-replay.sh', import.meta.url))
    const path = `${programs}:${dirname(process.execPath)}:${process.env['PATH']}`
    const { stdout } = await promisify(execFile)(script, { cwd: place, env: { ...process.env, PATH: path } })
    expect(stdout).toContain('\n1 of 1 action identical.\n')
    expect(stdout).toMatch(/when\.txt\n {4}content: differs at byte \d+ \(likely a time: each holds the time/)
    expect(stdout).toContain('\nexit code of the replay: 1\n')
    expect(stdout.match(/^verdict\s+ok$/gm)).toHaveLength(2)
  })
})
