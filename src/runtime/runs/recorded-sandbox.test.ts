import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunEvent } from '../../contract/event.ts'
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import {
  actionEndedDataSchema,
  changeSetSchema,
  recordedActionSchema,
  type ChangeSet,
} from '../../contract/recorded-action.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openActionLog, type ActionLog } from '../../runs/action-log.ts'
import { createRun, type Run } from '../../runs/run.ts'
import { recordedSandbox, type Looking } from './recorded-sandbox.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const said = (stdout: string, code = 0): ExecResult => ({
  execId: 'exec_1',
  ended: { by: 'exit', code },
  exitCode: code,
  stdout,
  stderr: '',
  stdoutBytes: Buffer.from(stdout),
  stderrBytes: Buffer.alloc(0),
  stdoutTotalBytes: stdout.length + 5,
  stderrTotalBytes: 0,
  stdoutTruncated: true,
  stderrTruncated: false,
  durationMs: 1,
  denials: [],
})

/** A sandbox that answers what the test says: what is tried here is the record, not the boundary. */
function scripted(parts: {
  readonly run?: (options: RunOptions) => Promise<ExecResult>
  readonly execute?: (name: string) => Promise<unknown>
}): Sandbox {
  const missing = (): never => {
    throw new Error('not part of this test')
  }
  return {
    id: 'sbx_scripted1',
    commands: { run: (_, options = {}) => (parts.run ?? missing)(options) },
    execute: (name) => (parts.execute ?? missing)(name),
    files: new Proxy({} as Sandbox['files'], { get: missing }),
    shells: new Proxy({} as Sandbox['shells'], { get: missing }),
    describe: missing,
    provision: missing,
    catalog: missing,
    kill: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

const unchanged: ChangeSet = { by: 'walk', complete: true, stopped: [], changes: [] }

describe('a recorded sandbox', () => {
  let ground: string
  let run: Run
  let log: ActionLog
  let looks: boolean[]
  const changes: Looking = {
    async look({ concurrent = false } = {}) {
      looks.push(concurrent)
      return unchanged
    },
  }

  beforeEach(async () => {
    ground = mkdtempSync(join(tmpdir(), 'glovebox-recorded-'))
    run = await createRun({ config: {}, prompt: 'p', sandboxPath: join(ground, 'run') })
    log = openActionLog(run.directory)
    looks = []
  })
  afterEach(async () => {
    await run.close()
    rmSync(ground, { recursive: true, force: true })
  })

  const recorded = (sandbox: Sandbox): Sandbox => recordedSandbox({ sandbox, run, log, changes })
  const events = async (): Promise<RunEvent[]> => {
    const all: RunEvent[] = []
    for await (const event of run.events()) if (event.type.startsWith('action_')) all.push(event)
    return all
  }
  const file = (number: number, name: string): Buffer => readFileSync(join(log.place(number), name))
  const action = (number: number) => recordedActionSchema.parse(JSON.parse(file(number, 'action.json').toString()))

  it('records a command with its outputs, its changes and the hash of every file', async () => {
    const box = recorded(scripted({ run: async () => said('hello', 3) }))
    await box.commands.run(['echo', 'hello'], { cwd: '/workspace', timeoutMs: 500 })
    expect(action(1)).toMatchObject({
      number: 1,
      action: 'run',
      input: { argv: ['echo', 'hello'], cwd: '/workspace', timeout_ms: 500 },
      ended: { by: 'exit', code: 3 },
      stdout: { bytes: 10, kept_bytes: 5, sha256: sha256(Buffer.from('hello')) },
      stdin: null,
      error: null,
    })
    expect(changeSetSchema.parse(JSON.parse(file(1, 'changes.json').toString()))).toEqual(unchanged)
    const [started, ended] = await events()
    expect(started?.data).toEqual({ number: 1, action: 'run', about: 'echo hello' })
    const { hashes } = actionEndedDataSchema.parse(ended?.data)
    expect(Object.keys(hashes).toSorted()).toEqual(readdirSync(log.place(1)).toSorted())
    for (const [name, hash] of Object.entries(hashes)) expect(sha256(file(1, name))).toBe(hash)
  })

  it('never keeps the value of an environment variable', async () => {
    const box = recorded(scripted({ run: async () => said(''), execute: async () => said('') }))
    await box.commands.run('true', { env: { TOKEN: 'hush-hush' } })
    await box.execute('run_shell', { command: 'true', env: { TOKEN: 'hush-hush' } })
    expect(action(1).env_names).toEqual(['TOKEN'])
    expect(action(2).env_names).toEqual(['TOKEN'])
    const kept = [1, 2].flatMap((number) => readdirSync(log.place(number)).map((name) => file(number, name).toString()))
    const lines = readFileSync(join(run.directory, 'events.jsonl'), 'utf8')
    expect([...kept, lines].join('\n')).not.toContain('hush-hush')
  })

  it('every action and command that an executor performs through its sandbox is recorded, a refused one too', async () => {
    const refuse = async (): Promise<never> => {
      throw new GloveboxError('OUTSIDE_MOUNTS', 'Cannot write: it lies outside every mount')
    }
    const box = recorded(scripted({ execute: refuse, run: refuse }))
    await expect(box.files.write('/etc/passwd', 'x')).rejects.toMatchObject({ code: 'OUTSIDE_MOUNTS' })
    await expect(box.commands.run(['x'], { cwd: '/etc' })).rejects.toMatchObject({ code: 'OUTSIDE_MOUNTS' })
    expect(action(1)).toMatchObject({ action: 'write_text', error: 'OUTSIDE_MOUNTS', content: null, ended: null })
    expect(action(2)).toMatchObject({ action: 'run', error: 'OUTSIDE_MOUNTS', stdout: null })
    expect(readdirSync(log.place(1))).toEqual(['action.json'])
    expect((await events()).map(({ data }) => data['error'])).toEqual([
      undefined,
      'OUTSIDE_MOUNTS',
      undefined,
      'OUTSIDE_MOUNTS',
    ])
  })

  it('keeps the content of a write beside its input', async () => {
    const box = recorded(scripted({ execute: async () => ({ path: '/workspace/a', bytes: 3 }) }))
    await box.files.write('a', 'abc')
    await box.files.write('a', Uint8Array.of(255, 0))
    await box.files.write('a', 'more', { append: true })
    expect(action(1)).toMatchObject({
      action: 'write_text',
      input: { path: 'a' },
      content: { bytes: 3, kept_bytes: 3 },
    })
    expect(action(1).input).toEqual({ path: 'a' })
    expect(file(2, 'content')).toEqual(Buffer.of(255, 0))
    expect(file(3, 'content').toString()).toBe('more')
    expect(action(3).output_sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  it('passes a stream of input on, and keeps it', async () => {
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one ')
      yield Buffer.from('two')
    }
    const seen: Buffer[] = []
    const box = recorded(
      scripted({
        async run({ stdin }) {
          for await (const chunk of stdin as AsyncIterable<Uint8Array>) seen.push(Buffer.from(chunk))
          return said('')
        },
      }),
    )
    await box.commands.run(['cat'], { stdin: stream() })
    expect(Buffer.concat(seen).toString()).toBe('one two')
    expect(file(1, 'stdin').toString()).toBe('one two')
    expect(action(1).stdin).toMatchObject({ bytes: 7, kept_bytes: 7 })
  })

  it('marks the changes of actions that overlap, and of no others', async () => {
    let finish = (): void => {}
    const gate = new Promise<void>((resolve) => (finish = resolve))
    const box = recorded(
      scripted({
        async run({ cwd }) {
          if (cwd === 'slow') await gate
          return said('')
        },
      }),
    )
    const slow = box.commands.run(['a'], { cwd: 'slow' })
    await box.commands.run(['b'])
    finish()
    await slow
    await box.commands.run(['c'])
    expect(looks).toEqual([true, true, false])
  })

  it('actions are numbered from 1 in the order of their start', async () => {
    const delays: Readonly<Record<string, number>> = { a: 30, b: 10, c: 20 }
    const box = recorded(
      scripted({
        async run({ cwd = '' }) {
          await new Promise((resolve) => setTimeout(resolve, delays[cwd]))
          return said('')
        },
        execute: async () => ({ text: '' }),
      }),
    )
    await Promise.all(Object.keys(delays).map((cwd) => box.commands.run([cwd], { cwd })))
    await box.files.read('d')
    expect([1, 2, 3].map((number) => action(number).input['argv'])).toEqual([['a'], ['b'], ['c']])
    expect(action(4).input).toMatchObject({ path: 'd' })
    const started = (await events()).filter(({ type }) => type === 'action_started')
    expect(started.map(({ data }) => data['number'])).toEqual([1, 2, 3, 4])
  })

  it('does not look for changes after an action that only looks', async () => {
    const box = recorded(scripted({ execute: async () => ({ text: 'x' }) }))
    await box.files.read('a')
    expect(looks).toEqual([])
    expect(readdirSync(log.place(1))).toEqual(['action.json'])
  })

  it('performs nothing whose beginning cannot be recorded', async () => {
    let isPerformed = false
    const box = recorded(
      scripted({
        async run() {
          isPerformed = true
          return said('')
        },
      }),
    )
    await run.transition('cancelled')
    await expect(box.commands.run(['rm'])).rejects.toMatchObject({ code: 'RUN_ENDED' })
    expect(isPerformed).toBe(false)
  })
})
