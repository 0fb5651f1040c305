import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { followInbox, type Message } from '../../src/runs/inbox.ts'
import { answeredEvent, askedEvent } from '../../src/runs/questions.ts'
import { createRun, type CreateRunOptions, type Run } from '../../src/runs/run.ts'
import {
  type Finished,
  makeProject,
  type Project,
  run as runCommand,
  start,
  type Started,
  until,
} from './command-line.ts'

let project: Project
let made: Run[]
beforeEach(() => {
  project = makeProject()
  made = []
})
afterEach(async () => {
  await Promise.all(made.map((run) => run.close()))
  project.remove()
})

const options = () => ({ cwd: project.directory, env: { GLOVEBOX_STATE_DIR: join(project.outside, 'state') } })
const runs = (...argv: readonly string[]): Promise<Finished> => runCommand(['runs', ...argv], options())
const started = (...argv: readonly string[]): Started => start(['runs', ...argv], options())
const fromLines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Owned by this process, which for the command line is another one. */
async function create(name: string, more: Partial<CreateRunOptions> = {}): Promise<Run> {
  const sandboxPath = join(project.directory, 'runs', name)
  const run = await createRun({ config: { name }, prompt: 'Do it.\n', sandboxPath, runId: `run_${name}`, ...more })
  made.push(run)
  return run
}

async function running(name: string, more: Partial<CreateRunOptions> = {}): Promise<Run> {
  const run = await create(name, more)
  await run.transition('running')
  return run
}

async function ended(name: string, status: 'completed' | 'cancelled' = 'completed'): Promise<Run> {
  const run = await running(name)
  writeFileSync(join(run.directory, 'deliverables', 'report.md'), 'good\n')
  await run.transition(status)
  await run.close()
  return run
}

async function waitingForReview(name: string): Promise<Run> {
  const run = await running(name, { deliverables: [{ path: 'report.md', allow_empty: false }], review: true })
  writeFileSync(join(run.directory, 'deliverables', 'report.md'), 'good\n')
  await run.transition('review_required')
  await run.close()
  return run
}

/** At work by its record, and nobody is. */
async function crashed(name: string): Promise<Run> {
  const run = await running(name)
  await run.close()
  return run
}

/** What a process at work on the run does with its messages. */
async function heed(run: Run, take: (message: Message) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  for await (const message of followInbox(run.directory, { signal: stop.signal })) {
    await take(message)
    stop.abort()
  }
}

describe('glovebox runs list', () => {
  it('says that there are none, and refuses a root that does not exist', async () => {
    const none = await runs('list')
    expect(none).toMatchObject({ code: 0, stdout: '' })
    expect(none.stderr).toContain('There are no runs in')
    expect(await runs('list', '--root', 'nowhere')).toMatchObject({ code: 1, stdout: '' })
  })

  it('lists runs newest first, as a table, as ids and as JSON', async () => {
    await ended('one')
    const failed = await running('two')
    await failed.transition('failed', { reason: 'exit_nonzero' })
    await crashed('three')
    const { code, stdout, stderr } = await runs('list')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [head, ...rows] = stdout.trimEnd().split('\n')
    expect(head?.split(/\s{2,}/)).toEqual(['ID', 'STATUS', 'TASK', 'STARTED', 'DURATION', 'REASON'])
    expect(rows.map((row) => row.split(/\s{2,}/).slice(0, 2))).toEqual([
      ['run_three (three)', 'crashed'],
      ['run_two (two)', 'failed'],
      ['run_one (one)', 'completed'],
    ])
    expect(rows[0]).toContain('crashed, not yet recovered; it was running')
    expect(rows[1]).toContain('exit_nonzero')
    expect((await runs('list', '-q')).stdout).toBe('run_three\nrun_two\nrun_one\n')
    const listed = fromLines((await runs('list', '--json')).stdout)
    expect(listed).toMatchObject([
      { run_id: 'run_three', status: 'running', state: 'crashed', crashed: true },
      { run_id: 'run_two', status: 'failed', failure_reason: 'exit_nonzero', crashed: false },
      { run_id: 'run_one', status: 'completed', completed_at: expect.any(String) },
    ])
  })

  it('shortens ids that were made as far as they stay different, and not with --no-trunc', async () => {
    const one = await create('a', { runId: undefined })
    const { stdout } = await runs('list')
    expect(stdout).toContain(`${one.record.run_id.slice(0, 16)} (a)`)
    expect(stdout).not.toContain(one.record.run_id)
    expect((await runs('list', '--no-trunc')).stdout).toContain(one.record.run_id)
  })

  it('filters by state, session and task', async () => {
    await ended('one')
    await crashed('two')
    const own = await create('three', { sessionId: 'sess_own', taskId: 'task_own' })
    await own.transition('cancelled')
    expect((await runs('list', '-q', '--status', 'crashed')).stdout).toBe('run_two\n')
    expect((await runs('list', '-q', '--status', 'completed', '--status', 'cancelled')).stdout).toBe(
      'run_three\nrun_one\n',
    )
    expect((await runs('list', '-q', '--session', 'sess_own')).stdout).toBe('run_three\n')
    expect((await runs('list', '-q', '--task', 'task_o')).stdout).toBe('run_three\n')
    const wrong = await runs('list', '--status', 'done')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('Known are: pending')
  })

  it('is honest about what it cannot read', async () => {
    const run = await ended('one')
    const broken = join(project.directory, 'runs', 'broken')
    mkdirSync(join(broken, 'events.jsonl'), { recursive: true })
    writeFileSync(join(broken, 'run.json'), 'garbage')
    const changed = join(project.directory, 'runs', 'changed')
    cpSync(run.directory, changed, { recursive: true })
    rmSync(join(changed, 'run.json'))
    const log = readFileSync(join(changed, 'events.jsonl'), 'utf8')
    writeFileSync(join(changed, 'events.jsonl'), log.replace('"to":"running"', '"to":"runninG"'))
    mkdirSync(join(project.directory, 'runs', 'nothing'))
    const { code, stdout, stderr } = await runs('list')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^run_one \(changed\)\s+corrupt\s/m)
    expect(stdout).toMatch(/^run_one \(one\)\s+completed\s/m)
    expect(stderr).toContain('broken: Cannot open the run: there is no events.jsonl')
    expect(stderr).toContain('not listed: nothing')
    const last = fromLines((await runs('list', '--json')).stdout).at(-1)
    expect(last).toMatchObject({ directory: broken, error: { code: 'NOT_FOUND' } })
  })
})

describe('naming a run', () => {
  it('takes a directory, an id and the beginning of one, and another root', async () => {
    await ended('demo-001')
    for (const name of ['runs/demo-001', 'run_demo-001', 'demo-001', 'demo', join(project.directory, 'runs/demo-001')])
      expect(await runs('open', name, 'workspace')).toMatchObject({
        code: 0,
        stdout: `${join(project.directory, 'runs', 'demo-001', 'workspace')}\n`,
      })
    const elsewhere = { cwd: project.outside, env: options().env }
    const found = await runCommand(['runs', 'open', 'demo', '--root', 'project/runs', '--json'], elsewhere)
    expect(JSON.parse(found.stdout)).toMatchObject({ directory: join(project.directory, 'runs', 'demo-001') })
  })

  it('refuses what several runs could be, and what none is, with the candidates', async () => {
    await ended('demo-001')
    await ended('demo-002')
    const several = await runs('show', 'demo')
    expect(several.code).toBe(2)
    expect(several.stderr).toContain('Cannot tell which run "demo" means: 2 runs begin so')
    expect(several.stderr).toContain('run_demo-001 (in demo-001), run_demo-002 (in demo-002)')
    const none = await runs('show', 'demo-003', '--json')
    expect(none.code).toBe(1)
    expect(JSON.parse(none.stdout)).toMatchObject({ error: { code: 'NOT_FOUND', hint: 'Did you mean "demo-001"?' } })
    expect(await runs('show', 'no/such/place')).toMatchObject({ code: 1 })
  })

  it('tells where the parts of a run lie, and which there are', async () => {
    const { directory } = await ended('demo')
    const all = await runs('open', 'demo')
    expect(all.stdout).toMatch(new RegExp(`^deliverables +${directory}/deliverables$`, 'm'))
    const wrong = await runs('open', 'demo', 'deliverable')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.stderr).toContain('Did you mean "deliverables"?')
  })
})

describe('glovebox runs show', () => {
  it('shows one run on one screen, with what can be done next', async () => {
    const run = await running('demo', {
      taskTitle: 'A task \u001b[2J',
      prompt: 'Write a report.\nMake it good.\n',
      deliverables: [{ path: 'report.md', allow_empty: false }],
    })
    await run.transition('completed')
    const { code, stdout } = await runs('show', 'demo')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^status +failed$/m)
    expect(stdout).toMatch(/^reason +deliverable_missing$/m)
    expect(stdout).toMatch(/^deliverables +report\.md {2}deliverable_missing$/m)
    expect(stdout).toMatch(/^prompt +Write a report\. \(2 lines in prompt\.md\)$/m)
    expect(stdout).toContain('glovebox runs verify demo')
    expect(stdout).not.toContain('\u001b')
    expect(stdout.split('\n').length).toBeLessThan(40)
    const told = JSON.parse((await runs('show', 'demo', '--json')).stdout) as Record<string, unknown>
    expect(told).toMatchObject({
      run_id: 'run_demo',
      status: 'failed',
      crashed: false,
      integrity: 'intact',
      events: 3,
      prompt: 'Write a report.\nMake it good.\n',
      task: { title: 'A task \u001b[2J' },
      deliverable_problems: [{ path: 'report.md', reason: 'deliverable_missing' }],
      artifacts: { files: 0 },
      doubts: [],
    })
  })

  it('tells a living run from a crashed one', async () => {
    const run = await running('demo')
    const living = await runs('show', 'demo')
    expect(living.stdout).toMatch(/^status +running$/m)
    expect(living.stdout).toMatch(new RegExp(`^process +${process.pid}$`, 'm'))
    expect(living.stdout).toContain('glovebox runs cancel demo')
    await run.close()
    const dead = await runs('show', 'demo')
    expect(dead.stdout).toMatch(/^status +crashed$/m)
    expect(dead.stdout).toContain('crashed, not yet recovered; it was running')
    expect(dead.stdout).toContain('glovebox runs recover')
  })

  it('shows what it cannot believe as doubt', async () => {
    const { directory } = await ended('demo')
    chmodSync(join(directory, 'prompt.md'), 0o644)
    writeFileSync(join(directory, 'prompt.md'), 'Something else.')
    const { code, stdout } = await runs('show', 'demo')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^doubt .*prompt\.md is not what it was when the run began$/m)
    expect(stdout).not.toContain('Something else.')
  })
})

describe('glovebox runs events', () => {
  it('prints the events from any of them on, as text and as they were written', async () => {
    const run = await running('demo')
    await run.append({ type: 'thought', summary: 'A \u001b[31mred\u001b[0m one.\nforged', severity: 'warning' })
    await run.transition('completed')
    await run.close()
    const { code, stdout, stderr } = await runs('events', 'demo')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(stdout).toContain('thought: warning A \\u001b[31mred\\u001b[0m one.\\u000aforged')
    const log = readFileSync(join(run.directory, 'events.jsonl'), 'utf8')
    expect((await runs('events', 'demo', '--json')).stdout).toBe(log)
    expect((await runs('events', 'demo', '--json', '--from', '4')).stdout).toBe(`${log.trimEnd().split('\n')[3]}\n`)
    expect(await runs('events', 'demo', '--from', '0')).toMatchObject({ code: 2 })
  })

  it('follows a live run until its end', async () => {
    const run = await running('demo')
    const following = started('events', '-f', 'demo', '--json')
    let text = ''
    following.child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await until('what was there is shown', () => text.includes('"to":"running"'))
    await run.append({ type: 'thought', summary: 'New.' })
    await until('what came is shown', () => text.includes('"thought"'))
    await run.transition('completed')
    const { code } = await following.finished
    expect(code).toBe(0)
    expect(text).toBe(readFileSync(join(run.directory, 'events.jsonl'), 'utf8'))
  })

  it('ends at Ctrl-C, and when the process at work is gone', async () => {
    const run = await running('demo')
    const following = started('events', '-f', 'demo')
    let text = ''
    following.child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await until('the first event is shown', () => text.includes('run_created'))
    following.child.kill('SIGINT')
    expect(await following.finished).toMatchObject({ code: 0, stderr: '' })
    const second = started('events', '-f', 'demo')
    await run.close()
    const done = await second.finished
    expect(done.code).toBe(0)
    expect(done.stderr).toContain('The run has crashed, not yet recovered.')
  })

  it('says where the log is damaged', async () => {
    const { directory } = await ended('demo')
    const log = join(directory, 'events.jsonl')
    writeFileSync(log, readFileSync(log, 'utf8').replace('"to":"running"', '"to":"Running"'))
    const { code, stdout, stderr } = await runs('events', 'demo')
    expect(code).toBe(1)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toContain('The log is damaged behind event 1')
    expect(await runs('events', '-f', 'demo')).toMatchObject({ code: 1 })
  })
})

describe('glovebox runs artifacts', () => {
  it('lists the files with size, hash and role, as a table and as JSON', async () => {
    const run = await running('demo')
    writeFileSync(join(run.directory, 'deliverables', 'report.md'), 'good\n')
    writeFileSync(join(run.directory, 'workspace', 'a\u001b[31m'), 'x')
    symlinkSync('/etc/passwd', join(run.directory, 'workspace', 'link'))
    const now = await runs('artifacts', 'demo')
    expect(now.stderr).toContain('these are its files as they are now')
    await run.transition('completed')
    await run.close()
    const { code, stdout, stderr } = await runs('artifacts', 'demo')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(now.stdout).toBe(stdout)
    expect(stdout).toMatch(/^deliverables\/report\.md +deliverable +file +5 bytes +[0-9a-f]{16}$/m)
    expect(stdout).toMatch(/^workspace\/link -> \/etc\/passwd +workspace +symlink /m)
    expect(stdout).not.toContain('\u001b')
    const told = JSON.parse((await runs('artifacts', 'demo', '--json', '--deliverables')).stdout) as {
      readonly entries: readonly unknown[]
    }
    expect(told.entries).toMatchObject([{ path: 'deliverables/report.md', size: 5, role: 'deliverable' }])
  })

  it('writes the bytes of a file, follows no link, and tells when they are not as recorded', async () => {
    const run = await running('demo')
    const report = join(run.directory, 'deliverables', 'report.bin')
    writeFileSync(report, 'one\0two\n')
    symlinkSync('../prompt.md', join(run.directory, 'workspace', 'link'))
    await run.transition('completed')
    await run.close()
    expect(await runs('artifacts', 'demo', '--get', 'deliverables/report.bin')).toMatchObject({
      code: 0,
      stdout: 'one\0two\n',
      stderr: '',
    })
    const link = await runs('artifacts', 'demo', '--get', '/workspace/link')
    expect(link).toMatchObject({ code: 1, stdout: '' })
    expect(link.stderr).toContain('it is a link')
    expect(await runs('artifacts', 'demo', '--get', '../prompt.md')).toMatchObject({ code: 2, stdout: '' })
    expect(await runs('artifacts', 'demo', '--get', 'deliverables/none')).toMatchObject({ code: 1, stdout: '' })
    writeFileSync(report, 'changed')
    const changed = await runs('artifacts', 'demo', '--get', 'deliverables/report.bin')
    expect(changed).toMatchObject({ code: 1, stdout: 'changed' })
    expect(changed.stderr).toContain('is not what it was when it was recorded')
  })
})

describe('glovebox runs verify', () => {
  it('verifies runs and copies of them, and counts what it checked', async () => {
    const { directory } = await ended('demo')
    cpSync(directory, join(project.directory, 'copy'), { recursive: true })
    rmSync(directory, { recursive: true })
    const { code, stdout, stderr } = await runs('verify', 'copy')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^verdict +ok$/m)
    expect(stdout).toMatch(/^checked +3 events \(.*\), \d+ files, 0 actions .*, 1 artifacts \(5 bytes\)$/m)
    const told = JSON.parse((await runs('verify', 'copy', '--json')).stdout) as Record<string, unknown>
    expect(told).toMatchObject({ verdict: 'ok', exit: 0, ok: true, checked: { events: 3, artifacts: 1 } })
  })

  it('has an exit code for each verdict, and of several the worst counts', async () => {
    const { directory } = await ended('sound')
    const spoil = (name: string, change: (copy: string) => void): string => {
      const copy = join(project.directory, 'runs', name)
      cpSync(directory, copy, { recursive: true })
      change(copy)
      return name
    }
    const edit = (file: string, change: (text: string) => string) => (copy: string) => {
      chmodSync(join(copy, file), 0o644)
      writeFileSync(join(copy, file), change(readFileSync(join(copy, file), 'utf8')))
    }
    const spoilt: readonly (readonly [string, number])[] = [
      ['sound', 0],
      [spoil('torn', (copy) => appendFileSync(join(copy, 'events.jsonl'), '{"event_id":')), 11],
      [
        spoil(
          'cut',
          edit('events.jsonl', (text) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`),
        ),
        12,
      ],
      [
        spoil(
          'changed',
          edit('events.jsonl', (text) => text.replace('"to":"running"', '"to":"Running"')),
        ),
        15,
      ],
      [
        spoil(
          'record',
          edit('run.json', (text) => text.replace('"completed"', '"failed"')),
        ),
        16,
      ],
      [
        spoil(
          'prompt',
          edit('prompt.md', () => 'Do evil.\n'),
        ),
        17,
      ],
      [
        spoil(
          'artifact',
          edit('deliverables/report.md', () => 'evil\n'),
        ),
        18,
      ],
    ]
    const codes: [string, number | null][] = []
    for (const [name] of spoilt) codes.push([name, (await runs('verify', name)).code])
    expect(codes).toEqual(spoilt)
    const all = await runs('verify', '--all', '--json')
    expect(all.code).toBe(15)
    expect(fromLines(all.stdout)).toHaveLength(spoilt.length)
    expect(await runs('verify', 'artifact', 'torn')).toMatchObject({ code: 18 })
  })

  it('refuses what is no run, and both or neither of names and --all', async () => {
    expect(await runs('verify', '.')).toMatchObject({ code: 1 })
    expect(await runs('verify')).toMatchObject({ code: 2 })
    await ended('demo')
    expect(await runs('verify', 'demo', '--all')).toMatchObject({ code: 2 })
    await crashed('dead')
    expect((await runs('verify', 'dead')).stdout).toMatch(/^status +running, crashed, not yet recovered$/m)
  })
})

describe('glovebox runs answer', () => {
  it('answers a run that asks, which takes the answer and goes on', async () => {
    const run = await running('demo')
    await run.append(askedEvent('q_1', { kind: 'approval', text: 'May I?', choices: ['yes', 'no'] }))
    await run.transition('waiting_for_user')
    const shown = await runs('show', 'demo')
    expect(shown.stdout).toContain('q_1: May I?')
    expect(shown.stdout).toContain('choices: yes, no')
    const wrong = await runs('answer', 'demo', 'perhaps')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('Choose one of: yes, no.')
    let heard: Message | undefined
    const heeding = heed(run, async (message) => {
      heard = message
      await run.append(answeredEvent('q_1', message.id))
      await run.transition('running')
    })
    const { code, stdout, stderr } = await runs('answer', 'demo', 'yes')
    await heeding
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'The question q_1 is answered.\n', stderr: '' })
    expect(heard).toMatchObject({ kind: 'answer', question: 'q_1', text: 'yes' })
    const again = await runs('answer', 'demo', 'yes')
    expect(again).toMatchObject({ code: 1 })
    expect(again.stderr).toContain('it asks nothing; it is running')
  })

  it('asks which when there are several, takes text from a pipe, and says when nobody took it', async () => {
    const run = await running('demo')
    await run.append(askedEvent('q_1', { kind: 'question', text: 'Which?' }))
    await run.append(askedEvent('q_2', { kind: 'question', text: 'How?' }))
    await run.transition('waiting_for_user')
    const which = await runs('answer', 'demo', 'this')
    expect(which).toMatchObject({ code: 2 })
    expect(which.stderr).toContain('--question: q_1, q_2')
    expect(await runs('answer', 'demo', '--question', 'q_3', 'this')).toMatchObject({ code: 1 })
    expect(await runs('answer', 'demo', '--question', 'q_2')).toMatchObject({ code: 2 })
    const piped = await runCommand(['runs', 'answer', 'demo', '--question', 'q_2', '--timeout', '100ms', '--json'], {
      ...options(),
      input: Buffer.from('So.\n'),
    })
    expect(piped.code).toBe(0)
    expect(JSON.parse(piped.stdout)).toMatchObject({ question: { id: 'q_2' }, message: { text: 'So.' }, taken: false })
    expect(piped.stderr).toContain('the run has not taken it yet')
  })

  it('refuses for a run whose process is gone, and for one that has ended', async () => {
    await crashed('dead')
    await ended('over')
    expect((await runs('answer', 'dead', 'yes')).stderr).toContain('the process that asked is gone')
    expect(await runs('answer', 'over', 'yes')).toMatchObject({ code: 1 })
  })
})

describe('glovebox runs approve and revise', () => {
  it('completes a run that waits for review, and writes it into the audit log', async () => {
    await waitingForReview('demo')
    expect(await runs('approve', 'demo', '--message', 'Fine.')).toMatchObject({
      code: 0,
      stdout: 'run_demo is completed\n',
      stderr: '',
    })
    expect(await runs('verify', 'demo')).toMatchObject({ code: 0 })
    const audit = await runCommand(['audit', 'show'], options())
    expect(audit.stdout).toContain('run.approve run_demo')
    const again = await runs('approve', 'demo', '--json')
    expect(again.code).toBe(1)
    expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: 'RUN_ENDED' } })
  })

  it('looks at the deliverables again', async () => {
    const { directory } = await waitingForReview('demo')
    writeFileSync(join(directory, 'deliverables', 'report.md'), 'other\n')
    const refused = await runs('approve', 'demo')
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('deliverables/report.md')
    rmSync(join(directory, 'deliverables', 'report.md'))
    const failed = await runs('approve', 'demo', '--accept-changes', '--json')
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({ status: 'failed', failure_reason: 'deliverable_missing' })
  })

  it('sends a run back with a message, and prints the command for the next attempt', async () => {
    await waitingForReview('demo')
    expect(await runs('revise', 'demo')).toMatchObject({ code: 2 })
    expect(await runs('revise', 'demo', '--message', ' ')).toMatchObject({ code: 2 })
    const { code, stdout } = await runs('revise', 'demo', '--message', 'Shorter.')
    expect(code).toBe(0)
    expect(stdout).toBe(
      'run_demo is revision_required\nThe next attempt at the task:\n  $ glovebox run --revises demo\n',
    )
    const told = JSON.parse((await runs('show', 'demo', '--json')).stdout) as Record<string, unknown>
    expect(told).toMatchObject({
      status: 'revision_required',
      message: 'Shorter.',
      next: ['glovebox run --revises demo'],
    })
    expect(await runs('approve', 'demo')).toMatchObject({ code: 0 })
  })

  it('refuses a run that is at work, and recovers one whose process is gone', async () => {
    await running('living')
    await crashed('dead')
    const busy = await runs('approve', 'living')
    expect(busy).toMatchObject({ code: 1, stdout: '' })
    expect(busy.stderr).toContain('another process is at work on it')
    expect((await runs('approve', 'dead')).stderr).toContain('it has ended as lost')
    expect(JSON.parse((await runs('show', 'dead', '--json')).stdout)).toMatchObject({
      status: 'lost',
      failure_reason: 'server_crash',
      crashed: false,
    })
  })
})

describe('glovebox runs cancel', () => {
  it('asks the process at work, and waits until the run has ended', async () => {
    const run = await running('demo')
    const heeding = heed(run, async () => {
      await run.transition('cancelled', { actor: 'user' })
    })
    expect(await runs('cancel', 'demo')).toMatchObject({ code: 0, stdout: 'run_demo is cancelled\n', stderr: '' })
    await heeding
    expect(await runs('cancel', 'demo')).toMatchObject({ code: 0, stdout: 'run_demo is cancelled, and was before\n' })
  })

  it('does not wait forever for a process that does not hear', async () => {
    const run = await running('demo')
    const { code, stderr } = await runs('cancel', 'demo', '--timeout', '200ms')
    expect(code).toBe(1)
    expect(stderr).toContain('its process was asked, and has not ended it yet')
    expect(run.record.status).toBe('running')
  })

  it('ends a run that waits for review, recovers a crashed one, and refuses one that has ended', async () => {
    await waitingForReview('waits')
    await crashed('dead')
    await ended('over')
    const waits = await runs('cancel', 'waits', '--json')
    expect(waits.code).toBe(0)
    expect(JSON.parse(waits.stdout)).toMatchObject({ status: 'cancelled', how: 'here' })
    const dead = await runs('cancel', 'dead')
    expect(dead).toMatchObject({ code: 1, stdout: 'run_dead is lost (server_crash): its process was gone already\n' })
    expect(dead.stderr).toContain('the run was ended as lost (server_crash)')
    const over = await runs('cancel', 'over')
    expect(over).toMatchObject({ code: 1, stdout: '' })
    expect(over.stderr).toContain('it has ended as completed')
  })
})

describe('glovebox runs recover', () => {
  it('puts right what crashed, leaves the rest alone, and says what it did', async () => {
    await running('living')
    const created = await create('begun')
    await created.close()
    const { directory } = await crashed('dead')
    appendFileSync(join(directory, 'events.jsonl'), '{"event_id":"evt_')
    await ended('over')
    const { code, stdout, stderr } = await runs('recover')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^run_dead: 17 bytes of a torn tail were kept aside; the run was ended as lost/m)
    expect(stdout).toMatch(/^run_begun: .*ended as failed/m)
    expect(stdout).toMatch(/^run_living: running, its process lives; left alone$/m)
    expect(stdout).not.toContain('run_over')
    expect(stderr).toBe('glovebox: 2 recovered, 1 sound, 1 at work, 0 damaged, 0 not recovered.\n')
    expect(await runs('verify', '--all')).toMatchObject({ code: 0 })
    const again = await runs('recover', 'runs', '--json')
    expect(fromLines(again.stdout).map(({ outcome }) => outcome)).toEqual(['sound', 'sound', 'alive', 'sound'])
  })

  it('leaves a damaged run as it is', async () => {
    const { directory } = await crashed('demo')
    const log = join(directory, 'events.jsonl')
    const changed = readFileSync(log, 'utf8').replace('"to":"running"', '"to":"Running"')
    writeFileSync(log, changed)
    const { code, stdout } = await runs('recover')
    expect(code).toBe(1)
    expect(stdout).toContain('run_demo: damaged, left as it is: ')
    expect(readFileSync(log, 'utf8')).toBe(changed)
    expect(await runs('cancel', 'demo')).toMatchObject({ code: 1 })
  })
})

describe('the help of glovebox runs', () => {
  const verbs = [
    'list',
    'show',
    'events',
    'artifacts',
    'open',
    'verify',
    'diff',
    'replay',
    'fork',
    'answer',
    'approve',
    'revise',
    'cancel',
    'recover',
  ]

  it.each(verbs)('of %s begins with examples', async (verb) => {
    const { code, stdout } = await runs(verb, '--help')
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^Examples:\\n {2}\\$ .*runs ${verb}`))
    expect(stdout).toMatch(/^ {2}--json /m)
  })

  it('lists every word, and knows what was meant by a misspelt one', async () => {
    const { stdout } = await runs('--help')
    expect(stdout).toMatch(/^Examples:\n/)
    for (const verb of verbs) expect(stdout).toMatch(new RegExp(`^ {2}${verb} `, 'm'))
    const wrong = await runs('aprove', 'x')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('Did you mean approve?')
    expect((await runCommand(['help', 'runs'], options())).stdout).toContain('recover')
  })
})
