// Runs as a program uses them: through the built package, with executors of its own.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Executor } from '../../src/contract/executor.ts'
import { leaveMessage } from '../../src/runs/inbox.ts'
import { makeProject, type Project, until } from './command-line.ts'
import { eventsOf, layout, recordOf, treeOf } from './run-ground.ts'

const { runs, resolveSandboxPath, updateRunState, createRunContext, GloveboxError } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

let project: Project
let directory: string
let stateBefore: string | undefined
beforeEach(() => {
  project = makeProject()
  directory = join(project.directory, 'runs/one')
  const home = join(project.outside, 'state')
  mkdirSync(home, { mode: 0o700 })
  stateBefore = process.env['GLOVEBOX_STATE_DIR']
  process.env['GLOVEBOX_STATE_DIR'] = home
})
afterEach(() => {
  if (stateBefore === undefined) delete process.env['GLOVEBOX_STATE_DIR']
  else process.env['GLOVEBOX_STATE_DIR'] = stateBefore
  project.remove()
})

const executor = (execute: Executor['execute']): Executor => ({ name: 'own', execute })
const states = (): readonly unknown[] =>
  eventsOf(directory).flatMap(({ type, data }) =>
    type === 'state_changed' || type === 'run_ended' ? [data['to']] : [],
  )

describe('runs.start', () => {
  it('performs a whole run with an executor of the caller', async () => {
    const seen: RunEvent[] = []
    const finished = await runs.start({
      prompt: 'Write it down.',
      sandboxPath: directory,
      sessionId: 'sess_lib',
      deliverables: ['a.txt'],
      executor: executor(async ({ prompt, sandbox, say, note }) => {
        await sandbox.files.write('/deliverables/a.txt', prompt)
        const { stdout } = await sandbox.commands.run('cat /deliverables/a.txt')
        say(`It says: ${stdout}\n`)
        await note({ type: 'thought', summary: 'Done.' })
        return { status: 'completed', summary: 'It is written.' }
      }),
      onEvent: (event) => seen.push(event),
    })
    expect(finished.record).toMatchObject({ status: 'completed', session_id: 'sess_lib', executor: 'own' })
    expect(finished.deliverables.map(({ path }) => path)).toEqual(['deliverables/a.txt'])
    expect(
      [...treeOf(directory).keys()].filter((name) => /^[^/]+\/?$/.test(name)).map((name) => name.replace('/', '')),
    ).toEqual(layout)
    expect(seen).toEqual(eventsOf(directory))
    expect(readFileSync(join(directory, 'transcript.md'), 'utf8')).toBe('It says: Write it down.\n')
    expect(await runs.verify(directory)).toMatchObject({ ok: true, findings: [] })
    expect((await runs.read(directory)).record).toEqual(finished.record)
  })

  it('waits for a person while a question is open, and goes on with the answer', async () => {
    const asked: string[] = []
    const running = runs.start({
      prompt: 'x',
      sandboxPath: directory,
      executor: executor(async ({ ask }) => {
        const answer = await ask({ kind: 'question', text: 'Which?', choices: ['red', 'blue'] })
        return { status: 'completed', summary: `It was ${answer}.` }
      }),
      onQuestion: ({ id, question }) => void asked.push(`${id} ${question.text}`),
    })
    await until('the run asks', () => asked.length === 1)
    expect(asked).toEqual(['q_1 Which?'])
    expect(recordOf(directory).status).toBe('waiting_for_user')
    await leaveMessage(directory, { kind: 'answer', question: 'q_1', text: 'green' })
    await leaveMessage(directory, { kind: 'answer', question: 'q_1', text: 'blue' })
    const { outcome, record } = await running
    expect(outcome.summary).toBe('It was blue.')
    expect(record.status).toBe('completed')
    expect(states()).toEqual(['running', 'waiting_for_user', 'running', 'completed'])
    expect(eventsOf(directory).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['question_asked', 'answer_refused', 'question_answered']),
    )
  })

  it('takes an answer from whoever sits in front of the process, and keeps it in the audit log', async () => {
    const finished = await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      runId: 'asking',
      executor: executor(async ({ ask }) => ({
        status: 'completed',
        summary: await ask({ kind: 'question', text: 'Which?' }),
      })),
      onQuestion: (asked) => void asked.answer('this one'),
    })
    expect(finished.outcome.summary).toBe('this one')
    const log = treeOf(join(project.outside, 'state/audit')).get('segment-000001.jsonl') ?? ''
    expect(log).toContain('run.answer')
    expect(log).not.toContain('this one')
  })

  it('is cancelled while it waits for a person', async () => {
    const running = runs.start({
      prompt: 'x',
      sandboxPath: directory,
      executor: executor(async ({ ask }) => {
        await ask({ kind: 'approval', text: 'May I?' })
        return { status: 'completed', summary: '' }
      }),
      onQuestion: () => void leaveMessage(directory, { kind: 'cancel' }),
    })
    expect((await running).record.status).toBe('cancelled')
    expect(states()).toEqual(['running', 'waiting_for_user', 'running', 'cancelled'])
  })

  it('tells of a tool that takes its time, and not of a quick one', async () => {
    await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      executor: executor(async ({ sandbox }) => {
        await sandbox.commands.run('true')
        await sandbox.commands.run('sleep 2.5')
        return { status: 'completed', summary: 'Done.' }
      }),
    })
    const timesOf = (type: string): readonly number[] =>
      eventsOf(directory).flatMap((event) => (event.type === type ? [Date.parse(event.timestamp)] : []))
    const [begun, ended] = [timesOf('action_started'), timesOf('action_ended')]
    const tookMs = begun.map((at, index) => (ended[index] ?? 0) - at)
    expect(tookMs).toHaveLength(2)
    // On a busy machine the quick one may take its time as well; by the record it is known.
    const told = tookMs.flatMap((ms) => (ms < 2000 ? [] : ['waiting_for_tool', 'running']))
    expect(told.length).toBeGreaterThan(0)
    expect(states()).toEqual(['running', ...told, 'completed'])
  })

  it('ends as failed when its executor throws, and says why without a word of the host', async () => {
    const fault = new Error(`secret of ${project.outside}`)
    const finished = await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      executor: executor(() => Promise.reject(fault)),
    })
    expect(finished.record).toMatchObject({ status: 'failed', failure_reason: 'internal' })
    expect(finished.error).toBe(fault)
    expect(readFileSync(join(directory, 'events.jsonl'), 'utf8')).not.toContain('secret of')
  })

  it('ends as failed before it ran when its sandbox cannot be made', async () => {
    mkdirSync(join(project.directory, 'data'))
    const data = { guestPath: '/data', hostPath: join(project.directory, 'data') }
    const finished = await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      mounts: [data, data],
      executor: executor(async () => {
        throw new Error('it must not be called')
      }),
    })
    expect(finished.record).toMatchObject({ status: 'failed', started_at: null })
    expect(finished.error).toBeInstanceOf(GloveboxError)
    expect(await runs.verify(directory)).toMatchObject({ ok: true })
  })

  it('takes the sandbox from an executor that does not end when it is told to', { timeout: 30_000 }, async () => {
    const controller = new AbortController()
    const finished = await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      signal: controller.signal,
      executor: executor(async () => {
        controller.abort()
        return new Promise(() => {})
      }),
    })
    expect(finished.record.status).toBe('cancelled')
  })

  it('records what the sandbox refuses, and lets the run go on', async () => {
    const finished = await runs.start({
      prompt: 'x',
      sandboxPath: directory,
      executor: executor(async ({ sandbox }) => {
        const refused = await sandbox.files.remove('/workspace/x').catch((error: unknown) => error)
        return { status: 'completed', summary: refused instanceof GloveboxError ? refused.code : 'not refused' }
      }),
    })
    expect(finished.outcome.summary).toBe('POLICY_DENIED')
    const ended = eventsOf(directory).find(({ type }) => type === 'action_ended')
    expect(ended?.data).toMatchObject({ action: 'remove_entry', error: 'POLICY_DENIED' })
  })

  it('asks for a wider policy in vain, and makes no run', async () => {
    const asked = runs.start({
      prompt: 'x',
      sandboxPath: directory,
      policy: { network: { mode: 'full' } },
      executor: { command: ['true'] },
    })
    await expect(asked).rejects.toMatchObject({ code: 'POLICY_ESCALATION' })
    rmSync(join(project.directory, 'runs'), { recursive: true, force: true })
    expect(treeOf(project.directory).size).toBe(0)
  })
})

describe('runs.create', () => {
  it('makes a run whose work the caller does, under the names that other systems know', async () => {
    await using run = await createRunContext({ config: { a: 1 }, prompt: 'p', sandboxPath: directory })
    await updateRunState(run, 'running')
    expect(resolveSandboxPath(run, 'notes/a.txt')).toBe(join(directory, 'workspace/notes/a.txt'))
    expect(() => resolveSandboxPath(run, '/prompt.md')).toThrow('outside every mount')
    expect((await run.transition('completed')).status).toBe('completed')
    const types: string[] = []
    for await (const { type } of run.events()) types.push(type)
    expect(types).toEqual(['run_created', 'state_changed', 'run_ended'])
    expect((await run.artifacts()).entries).toEqual([])
  })
})
