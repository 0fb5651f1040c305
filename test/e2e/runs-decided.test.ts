// Runs as `glovebox run` makes them, and the commands by which a person moves them on.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from './command-line.ts'
import { eventsOf, makeRunGround, recordOf, type RunGround } from './run-ground.ts'

const { runs: library } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

let ground: RunGround
beforeEach(() => {
  ground = makeRunGround()
})
afterEach(() => ground.remove())

const runs = (...argv: readonly string[]) => ground.glovebox(['runs', ...argv])
const reviewed = 'review: true\ndeliverables: [report.md]\n'
const isRunning = (name: string) => (): boolean => {
  try {
    return eventsOf(ground.place(name)).some(({ type }) => type === 'action_started')
  } catch {
    return false
  }
}

const isWaiting = (name: string): boolean => {
  try {
    return recordOf(ground.place(name)).status === 'waiting_for_user'
  } catch {
    return false
  }
}

describe('a run that waits for review', () => {
  it('is completed by approve, and verifies', async () => {
    ground.settings(reviewed)
    expect(await ground.shell('one', 'echo good > /deliverables/report.md')).toMatchObject({ code: 0 })
    expect(recordOf(ground.place('one'))).toMatchObject({ status: 'review_required', completed_at: null })
    expect((await runs('show', 'one')).stdout).toContain('glovebox runs approve one')
    expect(await runs('approve', 'one')).toMatchObject({ code: 0 })
    expect(recordOf(ground.place('one'))).toMatchObject({ status: 'completed', failure_reason: null })
    expect(await runs('verify', 'one')).toMatchObject({ code: 0 })
  })

  it('is done again after revise, by the same command, as a new run of the same task', async () => {
    ground.settings(reviewed)
    await ground.shell('one', 'cp "$GLOVEBOX_PROMPT_FILE" /deliverables/report.md')
    expect(await ground.glovebox(['run', '--revises', 'one'])).toMatchObject({ code: 125 })
    expect(await runs('revise', 'one', '--message', 'In German, please.')).toMatchObject({ code: 0 })
    expect(await ground.glovebox(['run', '--revises', 'one', '--prompt', 'x'])).toMatchObject({ code: 125 })
    expect(await ground.glovebox(['run', '--revises', 'one', '--sandbox', 'runs/two'])).toMatchObject({ code: 0 })
    const [first, second] = [recordOf(ground.place('one')), recordOf(ground.place('two'))]
    expect(first.status).toBe('revision_required')
    expect(second).toMatchObject({
      status: 'review_required',
      revision_of: first.run_id,
      task_id: first.task_id,
      session_id: first.session_id,
    })
    const prompt = readFileSync(join(ground.place('two'), 'prompt.md'), 'utf8')
    expect(prompt).toBe('Do it.\n\n## What to do differently this time\n\nIn German, please.\n')
    expect(readFileSync(join(ground.place('two'), 'deliverables', 'report.md'), 'utf8')).toBe(prompt)
    expect(await runs('approve', 'two')).toMatchObject({ code: 0 })
    expect((await runs('list', '-q', '--task', first.task_id)).stdout).toBe(`${second.run_id}\n${first.run_id}\n`)
    expect(await runs('verify', '--all')).toMatchObject({ code: 0 })
  })
})

describe('a run that asks', () => {
  it('goes on with the answer that a person gives on the command line', async () => {
    const before = process.env['GLOVEBOX_STATE_DIR']
    process.env['GLOVEBOX_STATE_DIR'] = join(ground.outside, 'state')
    try {
      const working = library.start({
        prompt: 'Ask.',
        sandboxPath: ground.place('one'),
        executor: {
          name: 'asking',
          execute: async ({ ask }) => ({
            status: 'completed',
            summary: `It is ${await ask({ kind: 'question', text: 'Which colour?', choices: ['red', 'blue'] })}.`,
          }),
        },
      })
      await until('the run waits', () => isWaiting('one'), 20_000)
      expect((await runs('show', 'one')).stdout).toContain('Which colour?')
      expect(await runs('answer', 'one', 'green')).toMatchObject({ code: 2 })
      expect(await runs('answer', 'one', 'blue')).toMatchObject({ code: 0, stderr: '' })
      expect((await working).record.status).toBe('completed')
      expect(eventsOf(ground.place('one')).at(-1)?.summary).toBe('It is blue.')
    } finally {
      if (before === undefined) delete process.env['GLOVEBOX_STATE_DIR']
      else process.env['GLOVEBOX_STATE_DIR'] = before
    }
  })
})

describe('a run that is at work', () => {
  it('is ended by cancel, and its followers with it', async () => {
    const working = ground.start(['run', '--prompt', 'Wait.', '--sandbox', 'runs/one', '--', 'sleep', '50'])
    await until('the command runs', isRunning('one'), 20_000)
    const following = ground.start(['runs', 'events', '-f', 'one'])
    // Longer than any timer of Node's.
    expect(await runs('cancel', 'one', '--timeout', '60d')).toMatchObject({ code: 0 })
    expect(await working.finished).toMatchObject({ code: 130 })
    const { code, stdout } = await following.finished
    expect(code).toBe(0)
    expect(stdout).toContain('cancel_requested')
    expect(stdout.trimEnd().split('\n').at(-1)).toContain('run_ended')
    expect(recordOf(ground.place('one'))).toMatchObject({ status: 'cancelled' })
    expect(await runs('verify', 'one')).toMatchObject({ code: 0 })
  })

  it('and is killed, is told as crashed and ended as lost by recover', async () => {
    const working = ground.start(['run', '--prompt', 'Wait.', '--sandbox', 'runs/one', '--', 'sleep', '50'])
    await until('the command runs', isRunning('one'), 20_000)
    working.child.kill('SIGKILL')
    await working.finished
    expect((await runs('list')).stdout).toContain('crashed, not yet recovered; it was running')
    expect(recordOf(ground.place('one')).status).toBe('running')
    expect(await runs('recover')).toMatchObject({ code: 0 })
    expect(recordOf(ground.place('one'))).toMatchObject({ status: 'lost', failure_reason: 'server_crash' })
    expect(await runs('verify', 'one')).toMatchObject({ code: 0 })
  })
})
