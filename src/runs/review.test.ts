import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf, groundForEach } from './ground.test-support.ts'
import { approveRun, cancelWaitingRun, maxReviewBytes, planRevision, sendRunBack } from './review.ts'
import { createRun, type CreateRunOptions } from './run.ts'
import { verifyRun } from './verify.ts'

const ground = groundForEach()

/** A run that waits for review, and that nobody holds. */
async function waiting(options: Partial<CreateRunOptions> = {}): Promise<string> {
  const deliverables = [{ path: 'report.md', allow_empty: false }]
  const run = await ground().create({ deliverables, review: true, ...options })
  writeFileSync(join(run.directory, 'deliverables', 'report.md'), 'good')
  await run.transition('running')
  await run.transition('review_required')
  await run.close()
  return run.directory
}

const reportOf = (directory: string): string => join(directory, 'deliverables', 'report.md')

describe('approveRun', () => {
  it('completes a run that waits for review, in the name of a person', async () => {
    const directory = await waiting()
    const { record } = await approveRun(directory, { message: 'Fine.' })
    expect(record).toMatchObject({ status: 'completed', failure_reason: null })
    const last = readFileSync(join(directory, 'events.jsonl'), 'utf8').trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ type: 'run_ended', actor: 'user', data: { message: 'Fine.' } })
    expect(await verifyRun(directory)).toMatchObject({ ok: true })
    expect(await codeOf(() => approveRun(directory))).toBe('RUN_ENDED')
  })

  it('refuses deliverables that changed after the run began to wait, and changes nothing', async () => {
    const directory = await waiting()
    writeFileSync(reportOf(directory), 'evil')
    expect(await codeOf(() => approveRun(directory))).toBe('CONFLICT')
    writeFileSync(reportOf(directory), 'good')
    writeFileSync(join(directory, 'deliverables', 'more.md'), 'x')
    expect(await codeOf(() => approveRun(directory))).toBe('CONFLICT')
    expect((await approveRun(directory, { acceptChanges: true })).record.status).toBe('completed')
  })

  it('checks the required deliverables again: without one the run fails', async () => {
    const directory = await waiting()
    rmSync(reportOf(directory))
    const { record } = await approveRun(directory, { acceptChanges: true })
    expect(record).toMatchObject({ status: 'failed', failure_reason: 'deliverable_missing' })
  })

  it('does not compare with a manifest that was changed', async () => {
    const directory = await waiting()
    const manifest = join(directory, 'artifact-manifest.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"size": 4', '"size": 5'))
    expect(await codeOf(() => approveRun(directory))).toBe('RECORD_DAMAGED')
  })

  it('refuses a run that does not wait, and one that another process holds', async () => {
    const run = await ground().create()
    await run.transition('running')
    expect(await codeOf(() => approveRun(run.directory))).toBe('BUSY')
    const copy = ground().crashedCopy(run)
    expect(await codeOf(() => approveRun(copy))).toBe('RUN_ENDED')
  })
})

describe('sendRunBack and planRevision', () => {
  it('the next attempt has the task, session and config of the first, and the prompt with the message', async () => {
    const directory = await waiting({
      prompt: 'Write a report.\n',
      taskTitle: 'Report',
      configText: 'a: 1\n',
      config: { a: 1 },
    })
    const { record } = await sendRunBack(directory, 'Shorter!\n')
    expect(record.status).toBe('revision_required')
    const plan = await planRevision(directory)
    expect(plan).toMatchObject({
      prompt: 'Write a report.\n\n## What to do differently this time\n\nShorter!\n',
      taskId: record.task_id,
      sessionId: record.session_id,
      revisionOf: record.run_id,
      taskTitle: 'Report',
      configText: 'a: 1\n',
      review: true,
      deliverables: [{ path: 'report.md', allow_empty: false }],
    })
    const next = await createRun({ ...plan, config: { a: 1 }, sandboxPath: join(ground().directory, 'next') })
    expect(next.record).toMatchObject({ revision_of: record.run_id, task_id: record.task_id, status: 'pending' })
    await next.transition('cancelled')
    await next.close()
  })

  it('what was sent back can still be approved', async () => {
    const directory = await waiting()
    await sendRunBack(directory, 'Hm.')
    expect((await approveRun(directory)).record.status).toBe('completed')
  })

  it('refuses a message that is empty or too long, and a run that nobody sent back', async () => {
    const directory = await waiting()
    expect(await codeOf(() => sendRunBack(directory, ' \n'))).toBe('INVALID_INPUT')
    expect(await codeOf(() => sendRunBack(directory, 'x'.repeat(maxReviewBytes)))).toBe('TOO_LARGE')
    expect(await codeOf(() => planRevision(directory))).toBe('ILLEGAL_TRANSITION')
    const longest = 'x'.repeat(maxReviewBytes - 2)
    expect((await sendRunBack(directory, longest)).record.status).toBe('revision_required')
  })

  it('does not plan from snapshots that were changed', async () => {
    const directory = await waiting()
    await sendRunBack(directory, 'Again.')
    chmodSync(join(directory, 'prompt.md'), 0o644)
    writeFileSync(join(directory, 'prompt.md'), 'Do evil.')
    expect(await codeOf(() => planRevision(directory))).toBe('RECORD_DAMAGED')
  })
})

describe('cancelWaitingRun', () => {
  it('ends a run that waits for review', async () => {
    const directory = await waiting()
    expect((await cancelWaitingRun(directory)).record.status).toBe('cancelled')
  })
})
