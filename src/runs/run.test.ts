import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { artifactManifestSchema, sandboxManifestSchema } from '../contract/artifact.ts'
import { eventSchema, type RunEvent } from '../contract/event.ts'
import { runRecordSchema, sessionRecordSchema, taskRecordSchema } from '../contract/run.ts'
import { parseFailpoints, type Failpoint } from './failpoints.ts'
import { fingerprint, sha256 } from './fingerprint.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'
import { runDirectories, runFiles, snapshotFiles } from './layout.ts'
import { fold } from './machine.ts'
import { createRun, type Run } from './run.ts'
import { verifyRun } from './verify.ts'

const ground = groundForEach()
const json = (run: Run, name: string): unknown => JSON.parse(readFileSync(join(run.directory, name), 'utf8'))
const eventsOf = async (run: Run): Promise<RunEvent[]> => {
  const events: RunEvent[] = []
  for await (const event of run.events()) events.push(event)
  return events
}

describe('a new run', () => {
  it('has every file of the layout from the start, each of its schema', async () => {
    const run = await ground().create()
    expect(readdirSync(run.directory).toSorted()).toEqual([...runFiles, ...runDirectories].toSorted())
    expect(runRecordSchema.parse(json(run, 'run.json'))).toEqual(run.record)
    expect(sessionRecordSchema.parse(json(run, 'session.json')).session_id).toBe(run.record.session_id)
    expect(taskRecordSchema.parse(parse(readFileSync(join(run.directory, 'task.yaml'), 'utf8'))).task_id).toBe(
      run.record.task_id,
    )
    expect(sandboxManifestSchema.parse(json(run, 'sandbox-manifest.json')).recorded_at).toBeNull()
    expect(artifactManifestSchema.parse(json(run, 'artifact-manifest.json'))).toMatchObject({
      complete: false,
      stopped: ['not_recorded'],
    })
    expect(readFileSync(join(run.directory, 'prompt.md'), 'utf8')).toBe('Do it.')
    expect(parse(readFileSync(join(run.directory, 'config.yaml'), 'utf8'))).toEqual({ name: 'demo' })
  })

  it('keeps the ids that it is given, and makes those that it is not', async () => {
    const given = await ground().create({ sessionId: 'mine', taskId: 'task.7', runId: 'run-7' })
    expect(given.record).toMatchObject({ session_id: 'mine', task_id: 'task.7', run_id: 'run-7' })
    const made = await ground().create()
    expect(made.record.session_id).toMatch(/^sess_[0-9a-f]{32}$/)
    expect(made.record.task_id).toMatch(/^task_[0-9a-f]{32}$/)
    expect(made.record.run_id).toMatch(/^run_[0-9a-f]{32}$/)
  })

  it('has the fingerprint of its config, whatever the order of its keys', async () => {
    const run = await ground().create({ config: { b: 1, a: 2 } })
    expect(run.record.config_fingerprint).toBe(fingerprint({ a: 2, b: 1 }))
  })

  it('with an id or a deliverable that cannot be is refused, and nothing is made', async () => {
    for (const bad of [
      { runId: '../x' },
      { sessionId: '-x' },
      { taskId: '' },
      { revisionOf: '.' },
      { deliverables: [{ path: '/etc/passwd', allow_empty: false }] },
      { deliverables: [{ path: '../x', allow_empty: false }] },
      { config: { f: () => 1 } as never },
    ]) {
      expect([bad, await codeOf(() => ground().create(bad))]).toEqual([bad, 'INVALID_INPUT'])
    }
    expect(readdirSync(ground().directory)).toEqual([])
  })

  it('an existing run directory is refused untouched', async () => {
    const place = join(ground().directory, 'there')
    mkdirSync(place)
    const again = (): Promise<Run> => createRun({ config: {}, prompt: '', sandboxPath: place })
    expect(await codeOf(again)).toBe('ALREADY_EXISTS')
    writeFileSync(join(place, 'mine'), 'x')
    const before = statSync(place, { bigint: true })
    expect(await codeOf(again)).toBe('ALREADY_EXISTS')
    expect(readdirSync(place)).toEqual(['mine'])
    expect(statSync(place, { bigint: true }).mtimeNs).toBe(before.mtimeNs)
    expect(readdirSync(ground().directory)).toEqual(['there'])
  })

  it('of an id that exists beside it is refused', async () => {
    await ground().create({ runId: 'r1', sandboxPath: join(ground().directory, 'r1') })
    expect(await codeOf(() => ground().create({ runId: 'r1' }))).toBe('ALREADY_EXISTS')
  })

  it('of twenty that are created at one place at once exactly one is there', async () => {
    const sandboxPath = join(ground().directory, 'contested')
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(() => ground().create({ sandboxPath }))))
    expect(codes.filter((code) => code === 'nothing was thrown')).toHaveLength(1)
    expect(codes.filter((code) => code === 'ALREADY_EXISTS')).toHaveLength(19)
    expect(readdirSync(ground().directory)).toEqual(['contested'])
    expect((await verifyRun(sandboxPath)).ok).toBe(true)
  })

  it('that cannot be published leaves nothing behind', async () => {
    const failpoint = parseFailpoints('run.create.beforePublish=error:EIO')
    expect(await codeOf(() => ground().create({ failpoint }))).toBe('INTERNAL')
    expect(readdirSync(ground().directory)).toEqual([])
  })

  it('prompt, config, session and task snapshots are read-only, and their hashes stand in the first event', async () => {
    const run = await ground().create()
    const [first] = await eventsOf(run)
    for (const name of snapshotFiles) {
      const path = join(run.directory, name)
      expect(lstatSync(path).mode & 0o777).toBe(0o444)
      expect(first?.data['files']).toMatchObject({ [name]: sha256(readFileSync(path)) })
    }
  })
})

describe('a run', () => {
  it('run.json is the fold of events.jsonl', async () => {
    const run = await ground().create()
    const path = [
      'running',
      'waiting_for_tool',
      'running',
      'waiting_for_user',
      'running',
      'review_required',
      'revision_required',
      'completed',
    ] as const
    for (const status of path) {
      expect((await run.transition(status)).status).toBe(status)
      await run.append({ type: 'note', summary: '' }).catch(() => {})
      expect(json(run, 'run.json')).toEqual(fold(await eventsOf(run)))
    }
    expect(run.record.status).toBe('completed')
  })

  it('an illegal transition is an error and changes nothing on the disk', async () => {
    const run = await ground().create()
    const before = readFileSync(join(run.directory, 'events.jsonl'))
    expect(await codeOf(() => run.transition('completed'))).toBe('ILLEGAL_TRANSITION')
    expect(await codeOf(() => run.transition('failed'))).toBe('INVALID_INPUT')
    expect(await codeOf(() => run.transition('failed', { reason: 'Two words' }))).toBe('INVALID_INPUT')
    expect(readFileSync(join(run.directory, 'events.jsonl'))).toEqual(before)
    expect(json(run, 'run.json')).toMatchObject({ status: 'pending' })
  })

  it('exactly one event is terminal, and it is the last', async () => {
    const run = await ground().create()
    await run.transition('running')
    const ends = ['completed', 'failed', 'cancelled', 'lost'] as const
    const notes = Array.from({ length: 50 }, () => codeOf(() => run.append({ type: 'note', summary: '' })))
    const codes = await Promise.all(
      ends.map((to) => codeOf(() => run.transition(to, to === 'completed' ? {} : { reason: 'x' }))),
    )
    await Promise.all(notes)
    expect(codes.toSorted()).toEqual(['RUN_ENDED', 'RUN_ENDED', 'RUN_ENDED', 'nothing was thrown'])
    expect(await codeOf(() => run.append({ type: 'note', summary: '' }))).toBe('RUN_ENDED')
    expect(await codeOf(() => run.recordSystemPrompt('x'))).toBe('RUN_ENDED')
    expect(await codeOf(async () => run.say('x'))).toBe('RUN_ENDED')
    const events = await eventsOf(run)
    expect(events.filter(({ type }) => type === 'run_ended')).toHaveLength(1)
    expect(events.at(-1)?.type).toBe('run_ended')
    expect((await verifyRun(run.directory)).findings).toEqual([])
  })

  it('events carry every field, and a caller cannot write those of the run itself', async () => {
    const run = await ground().create()
    const event = await run.append(
      { type: 'exec_started', summary: 'ls', data: { argv: ['ls'] }, actor: 'executor', severity: 'debug' },
      { durability: 'D2' },
    )
    expect(eventSchema.parse(event)).toMatchObject({
      seq: 2,
      run_id: run.record.run_id,
      actor: 'executor',
      severity: 'debug',
    })
    for (const type of ['run_created', 'state_changed', 'run_ended', 'log_repaired', 'file_recorded']) {
      expect(await codeOf(() => run.append({ type, summary: '' }))).toBe('INVALID_INPUT')
    }
  })

  it('events can be read from any point', async () => {
    const run = await ground().create()
    for (let count = 0; count < 3; count++) await run.append({ type: 'note', summary: String(count) })
    const later: number[] = []
    for await (const { seq } of run.events({ afterSeq: 2 })) later.push(seq)
    expect(later).toEqual([3, 4])
  })

  it('records the sandbox, the system prompt and the transcript so that a later change is found', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.recordSystemPrompt('You are careful.')
    await run.recordSandbox({
      sandbox_id: 'sbx_1',
      backend: 'bwrap',
      backend_version: '0.8',
      cwd: '/workspace',
      mounts: [],
      policy: [],
      enforced: [],
      not_enforced: [],
      environment: ['PATH'],
      plan_fingerprint: null,
    })
    run.say('# Hello\n')
    expect(await codeOf(() => run.recordSandbox({ backend: 1 } as never))).toBe('INVALID_INPUT')
    await run.transition('completed')
    await run.close()
    expect((await verifyRun(run.directory)).findings).toEqual([])
    for (const name of [
      'effective-system-prompt.md',
      'sandbox-manifest.json',
      'transcript.md',
      'artifact-manifest.json',
      'prompt.md',
      'config.yaml',
      'task.yaml',
      'session.json',
    ]) {
      const path = join(run.directory, name)
      const before = readFileSync(path)
      chmodSync(path, 0o644)
      writeFileSync(path, Buffer.concat([before, Buffer.from(' ')]))
      expect((await verifyRun(run.directory)).findings).toMatchObject([{ kind: 'file', subject: name }])
      writeFileSync(path, before)
    }
  })

  it('fails when a required deliverable does not count, with the reason', async () => {
    const run = await ground().create({ deliverables: [{ path: 'report.md', allow_empty: false }] })
    await run.transition('running')
    expect(await run.transition('completed')).toMatchObject({ status: 'failed', failure_reason: 'deliverable_missing' })
    const done = await ground().create({ deliverables: [{ path: '/deliverables/report.md', allow_empty: false }] })
    await done.transition('running')
    writeFileSync(join(done.directory, 'deliverables', 'report.md'), 'x')
    expect(await done.transition('completed')).toMatchObject({ status: 'completed', failure_reason: null })
  })

  it('ends on a disk that is full, in the space that was kept back for it', async () => {
    let isFull = false
    const run = await ground().create({ failpoint: full(() => isFull && existsSync(join(reserveOf(), 'reserve'))) })
    const reserveOf = (): string => join(run.directory, 'logs')
    await run.transition('running')
    expect(statSync(join(reserveOf(), 'reserve')).size).toBe(64 * 1024)
    isFull = true
    expect(await codeOf(() => run.append({ type: 'note', summary: '' }))).toBe('NO_SPACE')
    expect(await run.transition('failed', { reason: 'disk_full' })).toMatchObject({
      status: 'failed',
      failure_reason: 'disk_full',
    })
    await run.close()
    expect(json(run, 'artifact-manifest.json')).toMatchObject({ complete: false, stopped: ['no_space'] })
    expect((await verifyRun(run.directory)).findings).toEqual([])
  })

  it('leaves nothing but the layout when it is closed after its end', async () => {
    const run = await ground().create()
    await run.transition('cancelled')
    await run.close()
    await run.close()
    expect(readdirSync(run.directory).toSorted()).toEqual([...runFiles, ...runDirectories].toSorted())
    expect(readdirSync(join(run.directory, 'logs'))).toEqual([])
    expect(await codeOf(() => run.transition('running'))).toBe('RUN_ENDED')
  })
})

const full =
  (isFull: () => boolean): Failpoint =>
  (name) => {
    const fails = parseFailpoints('run.append.beforeWrite=error:ENOSPC,run.persist.beforeRename=error:ENOSPC')
    if (isFull()) fails(name)
  }
