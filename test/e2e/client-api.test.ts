// Execs and runs through the client, as somebody's program uses them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Glovebox, RunEvent } from '../../src/client/index.ts'
import { startScriptedModel } from '../fixtures/scripted-model.ts'
import { client, openClientGround, type ClientGround } from './client-ground.ts'

let ground: ClientGround
let glovebox: Glovebox

beforeAll(async () => {
  ground = await openClientGround()
  glovebox = client.connect({ url: ground.url, token: ground.token })
})
afterAll(() => ground[Symbol.asyncDispose]())

const shell = (command: string) => ({ kind: 'shell', command }) as const

async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

describe('execs', () => {
  it('an exec runs to its end, with its output as it comes and its record', async () => {
    let out = ''
    let err = ''
    const exec = await glovebox.execs.run(
      {
        project_id: 'alpha',
        exec: { ...shell('cat /workspace/inputs/in.txt; echo "$WORD" >&2; exit 3'), env: { WORD: 'hidden' } },
        inputs: [{ path: 'in.txt', content: 'given\n' }],
        task_ref: { task_id: 'task-a' },
        policy_overrides: { timeout_ms: 5000 },
      },
      {
        onStdout: (chunk) => void (out += Buffer.from(chunk).toString()),
        onStderr: (chunk) => void (err += Buffer.from(chunk).toString()),
      },
    )
    expect([out, err]).toEqual(['given\n', 'hidden\n'])
    expect(exec).toMatchObject({ status: 'FAILED', exit_code: 3, env_keys: ['WORD'], task_id: 'task-a' })
    expect(exec.policy_snapshot?.timeout_ms).toBe(5000)
    expect(await glovebox.execs.get(exec.exec_id)).toEqual(exec)
  })

  it('under one key there is one exec, and another body under it is refused', async () => {
    const options = { idempotencyKey: 'the-key' }
    const request = { project_id: 'keyed', exec: shell('echo x >> /workspace/work/times') }
    const made = await Promise.all([1, 2, 3].map(() => glovebox.execs.run(request, options)))
    expect(new Set(made.map(({ exec_id }) => exec_id)).size).toBe(1)
    await expect(glovebox.execs.create({ ...request, exec: shell('true') }, options)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    })
    let out = ''
    const take = { onStdout: (chunk: Uint8Array) => void (out += Buffer.from(chunk).toString()) }
    await glovebox.execs.run({ project_id: 'keyed', exec: shell('cat /workspace/work/times') }, take)
    expect(out).toBe('x\n')
  })

  it('execs are listed by task, page by page', async () => {
    for (const n of [1, 2, 3])
      await glovebox.execs.run({ project_id: 'beta', exec: shell(`exit ${n}`), task_ref: { task_id: 'task-b' } })
    const filter = { project_id: 'beta', task_id: 'task-b' }
    const page = await glovebox.execs.list(filter, { limit: 2 })
    expect(page.items.map(({ exit_code }) => exit_code)).toEqual([3, 2])
    const all = []
    for await (const { exit_code } of glovebox.execs.each(filter)) all.push(exit_code)
    expect(all).toEqual([3, 2, 1])
    await expect(glovebox.execs.list(filter, { cursor: `${page.next_cursor}x` })).rejects.toMatchObject({
      code: 'INVALID_CURSOR',
    })
  })

  it('artifacts are listed and read, with names that an address must not misread', async () => {
    const name = 'out/über 100%?.txt'
    const { exec_id } = await glovebox.execs.run({
      project_id: 'gamma',
      exec: shell(`mkdir /workspace/artifacts/out; echo made > '/workspace/artifacts/${name}'; echo said`),
    })
    const { entries } = await glovebox.execs.artifacts(exec_id)
    expect(entries.filter(({ by }) => by === 'guest').map(({ path }) => path)).toContain(name)
    expect(
      entries
        .filter(({ by }) => by === 'server')
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['manifest.json', 'meta.json', 'stderr.txt', 'stdout.txt'])
    expect(await textOf(glovebox.execs.read(exec_id, name))).toBe('made\n')
    expect(await textOf(glovebox.execs.read(exec_id, 'stdout.txt'))).toBe('said\n')
    await expect(textOf(glovebox.execs.read(exec_id, 'out/none'))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(textOf(glovebox.execs.read(exec_id, '../meta.json'))).rejects.toMatchObject({ code: 'INVALID_PATH' })
  })

  it('an exec is cancelled by its caller, or by its signal', async () => {
    const request = { project_id: 'delta', exec: shell('sleep 300') }
    const { exec_id } = await glovebox.execs.create(request)
    expect(await glovebox.execs.cancel(exec_id)).toMatchObject({ exec_id, status: 'CANCELLED' })
    expect(await glovebox.execs.cancel(exec_id)).toMatchObject({ exec_id, status: 'CANCELLED' })
    const stop = new AbortController()
    const talking = { project_id: 'delta', exec: shell('echo begun; sleep 300') }
    const ended = await glovebox.execs.run(talking, { signal: stop.signal, onStdout: () => stop.abort() })
    expect(ended).toMatchObject({ status: 'CANCELLED' })
  })

  it('what cannot be is refused with the code of the table', async () => {
    const get = glovebox.execs.get('exec_00000000000000000000000000000000')
    await expect(get).rejects.toMatchObject({ name: 'GloveboxError', code: 'NOT_FOUND' })
    const escaping = { exec: shell('true'), inputs: [{ path: '../x', content: '' }] }
    await expect(glovebox.execs.create(escaping)).rejects.toMatchObject({ kind: { http: 400 } })
    const greedy = { exec: shell('true'), policy_overrides: { memory_mb: 1_000_000 } }
    await expect(glovebox.execs.create(greedy)).rejects.toMatchObject({ code: 'POLICY_ESCALATION' })
    expect((await glovebox.execs.health()).workspace_writable).toBe(true)
  })
})

describe('runs', () => {
  const writing = ['sh', '-c', 'cat "$GLOVEBOX_PROMPT_FILE" > /deliverables/report.md; echo noted > notes.txt']

  async function followed(runId: string): Promise<readonly RunEvent[]> {
    const events: RunEvent[] = []
    for await (const event of glovebox.runs.events(runId)) events.push(event)
    return events
  }

  it('a run is started, followed to its end, and its files are read', async () => {
    const made = await glovebox.runs.create({
      project: 'alpha',
      prompt: 'Write it.',
      command: writing,
      deliverables: ['report.md'],
    })
    const events = await followed(made.run_id)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.at(-1)).toMatchObject({ type: 'run_ended', data: { to: 'completed' } })
    expect(await glovebox.runs.get(made.run_id)).toMatchObject({
      project: 'alpha',
      record: { run_id: made.run_id, status: 'completed' },
      integrity: 'intact',
      crashed: false,
      events: events.length,
    })
    const { entries, recorded } = await glovebox.runs.artifacts(made.run_id)
    expect(recorded).toBe(true)
    expect(entries.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['deliverables/report.md', 'workspace/notes.txt']),
    )
    expect(await textOf(glovebox.runs.read(made.run_id, 'deliverables/report.md'))).toBe('Write it.')

    const rest = []
    for await (const { seq } of glovebox.runs.events(made.run_id, { after: 3 })) rest.push(seq)
    expect(rest).toEqual(events.slice(3).map(({ seq }) => seq))
    const none = []
    for await (const { seq } of glovebox.runs.events(made.run_id, { after: events.length })) none.push(seq)
    expect(none).toEqual([])
    const { items, next_after } = await glovebox.runs.eventPage(made.run_id, { limit: 2 })
    expect([items.length, next_after]).toEqual([2, 2])
  })

  it('a run that owes what it did not deliver fails, and says why', async () => {
    const { run_id } = await glovebox.runs.create({ prompt: 'Do it.', command: ['true'], deliverables: ['never.md'] })
    await followed(run_id)
    expect((await glovebox.runs.get(run_id)).record).toMatchObject({
      status: 'failed',
      failure_reason: 'deliverable_missing',
    })
  })

  it('a run is reviewed: sent back, done again, approved', async () => {
    const request = { project: 'reviewed', prompt: 'Do it.', command: writing, review: true }
    const { run_id } = await glovebox.runs.create(request)
    await expect.poll(async () => (await glovebox.runs.get(run_id)).record?.status).toBe('review_required')
    expect(await glovebox.runs.revise(run_id, 'Shorter, please.')).toMatchObject({ status: 'revision_required' })
    const again = await glovebox.runs.create({ project: 'reviewed', revises: run_id })
    await expect.poll(async () => (await glovebox.runs.get(again.run_id)).record?.status).toBe('review_required')
    expect((await glovebox.runs.get(again.run_id)).record).toMatchObject({ revision_of: run_id })
    expect(await glovebox.runs.approve(again.run_id, { message: 'Good.' })).toMatchObject({ status: 'completed' })
    await expect(glovebox.runs.approve(again.run_id)).rejects.toMatchObject({ kind: { http: 409 } })
    const ids = []
    for await (const each of glovebox.runs.each({ project: 'reviewed' })) ids.push(each.run_id)
    expect(ids).toEqual([again.run_id, run_id])
    expect((await glovebox.runs.list({ project: 'reviewed', status: 'completed' })).items).toHaveLength(1)
  })

  it('a run is cancelled while it is followed', async () => {
    const { run_id } = await glovebox.runs.create({ prompt: 'Do it.', command: ['sleep', '300'] })
    const events = []
    for await (const event of glovebox.runs.events(run_id)) {
      events.push(event)
      if (event.type === 'action_started')
        expect(await glovebox.runs.cancel(run_id)).toMatchObject({ status: 'cancelled' })
    }
    expect(events.at(-1)).toMatchObject({ type: 'run_ended', data: { to: 'cancelled' } })
  })
})

describe('a run that asks', () => {
  it('waits for its answer, which any client may give', async () => {
    await using provider = await startScriptedModel([
      { calls: [{ name: 'ask_user', arguments: { question: 'Which colour?', choices: ['red', 'blue'] } }] },
      { text: 'Thank you.' },
    ])
    await using other = await openClientGround({
      settings: { model: { model: 'scripted', baseUrl: provider.url, timeoutMs: 20_000 } },
      env: { OPENAI_API_KEY: 'sk-scripted-9876543210', ANTHROPIC_API_KEY: '' },
    })
    const { runs } = client.connect({ url: other.url, token: other.token })
    const { run_id } = await runs.create({ prompt: 'Do it.', executor: 'model' })
    let question: string | undefined
    for await (const event of runs.events(run_id)) {
      if (event.type !== 'question_asked') continue
      await expect.poll(async () => (await runs.get(run_id)).questions.length).toBe(1)
      question = (await runs.get(run_id)).questions[0]?.id ?? ''
      await expect(runs.answer(run_id, 'green')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect(await runs.answer(run_id, 'blue', { question })).toEqual({ question, taken: true })
    }
    expect(question).toBeDefined()
    expect((await runs.get(run_id)).record).toMatchObject({ status: 'completed' })
    expect(provider.heard(1)).toContain('The user answered: blue')
  })
})
