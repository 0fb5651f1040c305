import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RunStatus } from '../contract/run.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'
import { openRun } from './open.ts'
import { findOwner } from './ownership.ts'
import { readRun } from './reader.ts'
import type { Run } from './run.ts'
import { verifyRun } from './verify.ts'

const ground = groundForEach()

async function runIn(...path: readonly RunStatus[]): Promise<Run> {
  const run = await ground().create()
  for (const status of path) await run.transition(status, { reason: 'given' })
  return run
}

async function opened(directory: string): Promise<{ record: Run['record']; repairs: readonly string[] }> {
  const { run, repairs } = await openRun(directory)
  await run.close()
  return { record: run.record, repairs }
}

describe('openRun', () => {
  it('refuses a run whose process is alive', async () => {
    const run = await runIn('running')
    expect(await codeOf(() => openRun(run.directory))).toBe('BUSY')
    expect(findOwner(run.directory)).toEqual({ pid: process.pid, isAlive: true })
    await run.close()
    expect(findOwner(run.directory)).toBeUndefined()
    expect((await opened(run.directory)).record.status).toBe('lost')
  })

  it('refuses what is no run, and leaves nothing in it', async () => {
    expect(await codeOf(() => openRun(join(ground().directory, 'nowhere')))).toBe('NOT_FOUND')
    mkdirSync(join(ground().directory, 'empty'))
    expect(await codeOf(() => openRun(join(ground().directory, 'empty')))).toBe('NOT_FOUND')
    expect(readdirSync(join(ground().directory, 'empty'))).toEqual([])
  })

  it('ends a crashed run as failed if nothing had started, and as lost if nobody can know', async () => {
    const cases: [readonly RunStatus[], RunStatus, string | null][] = [
      [[], 'failed', 'server_crash'],
      [['running'], 'lost', 'server_crash'],
      [['running', 'waiting_for_tool'], 'lost', 'server_crash'],
      [['running', 'waiting_for_user'], 'lost', 'server_crash'],
      [['running', 'review_required'], 'review_required', null],
      [['running', 'review_required', 'revision_required'], 'revision_required', null],
      [['running', 'completed'], 'completed', null],
      [['cancelled'], 'cancelled', 'given'],
    ]
    for (const [path, status, failure_reason] of cases) {
      const crashed = ground().crashedCopy(await runIn(...path))
      expect((await opened(crashed)).record).toMatchObject({ status, failure_reason })
      expect((await verifyRun(crashed)).findings).toEqual([])
      expect((await opened(crashed)).repairs).toEqual([])
    }
  })

  it('approves a run that waits for review, and judges its deliverables again', async () => {
    const run = await ground().create({ deliverables: [{ path: 'a', allow_empty: false }] })
    writeFileSync(join(run.directory, 'deliverables', 'a'), 'x')
    await run.transition('running')
    await run.transition('review_required')
    await run.close()
    rmSync(join(run.directory, 'deliverables', 'a'))
    expect((await verifyRun(run.directory)).findings).toMatchObject([{ kind: 'artifact', subject: 'deliverables/a' }])
    const again = await openRun(run.directory)
    expect(await again.run.transition('completed')).toMatchObject({
      status: 'failed',
      failure_reason: 'deliverable_missing',
    })
    await again.run.close()
  })

  it('writes run.json anew from the events when it is missing, empty, wrong, or behind', async () => {
    const run = await runIn('running')
    const behind = join(ground().directory, 'behind.json')
    copyFileSync(join(run.directory, 'run.json'), behind)
    await run.transition('completed')
    const whole = readFileSync(join(run.directory, 'run.json'), 'utf8')
    for (const text of [
      undefined,
      '',
      '{"status":"completed"}',
      '{',
      readFileSync(behind, 'utf8'),
      '\0'.repeat(whole.length),
    ]) {
      const crashed = ground().crashedCopy(run)
      rmSync(join(crashed, 'run.json'))
      if (text !== undefined) writeFileSync(join(crashed, 'run.json'), text)
      expect((await opened(crashed)).repairs).toEqual(['run.json was written anew from the events'])
      expect(readFileSync(join(crashed, 'run.json'), 'utf8')).toBe(whole)
      expect((await verifyRun(crashed)).findings).toEqual([])
    }
  })

  it('ends a crashed run even if its workspace was taken away, and the manifest says so', async () => {
    const crashed = ground().crashedCopy(await runIn('running'))
    rmSync(join(crashed, 'workspace'), { recursive: true })
    expect((await opened(crashed)).record.status).toBe('lost')
    expect(JSON.parse(readFileSync(join(crashed, 'artifact-manifest.json'), 'utf8'))).toMatchObject({
      complete: false,
      stopped: ['unreadable'],
    })
  })

  it('sweeps stale temporaries of its own pattern and nothing else', async () => {
    const crashed = ground().crashedCopy(await runIn('running'))
    writeFileSync(join(crashed, `.run.json.${'a'.repeat(24)}.tmp`), 'half')
    writeFileSync(join(crashed, `.artifact-manifest.json.${'b'.repeat(24)}.tmp`), '')
    writeFileSync(join(crashed, 'notes.tmp'), 'mine')
    expect((await opened(crashed)).repairs[0]).toBe('2 temporary files were removed')
    expect(readdirSync(crashed).filter((name) => name.includes('tmp'))).toEqual(['notes.tmp'])
  })

  it('freezes a run whose log was cut at a line, and touches nothing', async () => {
    const run = await runIn('running', 'completed')
    await run.close()
    const log = join(run.directory, 'events.jsonl')
    truncateSync(log, readFileSync(log).lastIndexOf(10, -2) + 1)
    const before = snapshot(run.directory)
    expect(await codeOf(() => openRun(run.directory))).toBe('RECORD_DAMAGED')
    expect(snapshot(run.directory)).toEqual(before)
    expect(await readRun(run.directory)).toMatchObject({ integrity: 'broken', record: { status: 'running' } })
  })

  it('freezes a run of which not even the first event can be read', async () => {
    const crashed = ground().crashedCopy(await runIn())
    writeFileSync(join(crashed, 'events.jsonl'), '')
    writeFileSync(join(crashed, 'run.json'), '')
    expect(await codeOf(() => openRun(crashed))).toBe('RECORD_DAMAGED')
    expect(await readRun(crashed)).toMatchObject({ record: null, integrity: 'broken' })
  })

  it('freezes a run whose task was changed, since that says what it owes', async () => {
    const crashed = ground().crashedCopy(await runIn('running'))
    rmSync(join(crashed, 'task.yaml'))
    writeFileSync(join(crashed, 'task.yaml'), 'deliverables: []\n')
    expect(await codeOf(() => openRun(crashed))).toBe('RECORD_DAMAGED')
  })

  it('takes away half-built directories of dead processes, and leaves those of the living', async () => {
    const crashed = ground().crashedCopy(await runIn())
    const stale = join(ground().directory, `.glovebox-run-${'0'.repeat(24)}`)
    const young = join(ground().directory, `.glovebox-run-${'1'.repeat(24)}`)
    mkdirSync(join(stale, 'logs'), { recursive: true })
    mkdirSync(join(young, 'logs'), { recursive: true })
    utimesSync(stale, 1, 1)
    await runIn()
    expect([existsSync(stale), existsSync(young), existsSync(crashed)]).toEqual([false, true, true])
  })
})

const snapshot = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => {
    const { size, mtimeMs, mode } = statSync(join(directory, name))
    return name === 'logs' ? name : `${name} ${size} ${mtimeMs} ${mode}`
  })
