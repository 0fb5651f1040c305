// Persistent shells in a run: every command of them is in its record, and can be performed again.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Executor } from '../../src/contract/executor.ts'
import type { RecordedAction } from '../../src/contract/recorded-action.ts'
import type { ReplayReport } from '../../src/runtime/runs/replay.ts'
import { makeProject, run, type Project } from './command-line.ts'

const door = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href
const { startRun } = (await import(door('runtime/runs/start.js'))) as typeof import('../../src/runtime/runs/start.ts')
const { verifyRun } = (await import(door('runs/verify.js'))) as typeof import('../../src/runs/verify.ts')

let project: Project
let directory: string
const stateBefore = process.env['GLOVEBOX_STATE_DIR']
beforeAll(async () => {
  project = makeProject()
  process.env['GLOVEBOX_STATE_DIR'] = join(project.outside, 'state')
  directory = join(project.directory, 'runs/shelled')
  const { record, error } = await startRun({
    prompt: 'x',
    sandboxPath: directory,
    executor,
    config: {},
    sandbox: { layers: [] },
  })
  if (record.status !== 'completed') throw new Error(`The run is ${record.status}`, { cause: error })
})
afterAll(() => {
  if (stateBefore === undefined) delete process.env['GLOVEBOX_STATE_DIR']
  else process.env['GLOVEBOX_STATE_DIR'] = stateBefore
  project.remove()
})

const executor: Executor = {
  name: 'own',
  async execute({ sandbox }) {
    const shell = await sandbox.shells.open()
    await shell.exec('mkdir -p deep && cd deep && n=1')
    await shell.exec('echo "$n" >count; n=$((n + 1)); exit 3')
    await shell.exec('echo "$n" >>count; cat count; echo err >&2')
    const { shellId } = (await sandbox.execute('open_persistent_shell', { cwd: '/tmp' })) as { shellId: string }
    await sandbox.execute('exec_persistent_shell', { shellId, command: 'pwd; sleep 30', timeoutMs: 200 })
    await sandbox.execute('close_persistent_shell', { shellId })
    const begun = await shell.start('echo begun')
    await begun.result
    await expect(sandbox.shells.open({ pty: true })).rejects.toMatchObject({ code: 'POLICY_DENIED' })
    await shell.close()
    return { status: 'completed', summary: 'Done.' }
  },
}

const recorded = (): readonly RecordedAction[] =>
  readdirSync(join(directory, 'logs/actions'))
    .toSorted()
    .map(
      (name) =>
        JSON.parse(readFileSync(join(directory, 'logs/actions', name, 'action.json'), 'utf8')) as RecordedAction,
    )

describe('a run with persistent shells', () => {
  it('records opening, every command and closing, with outputs, ends and changes', async () => {
    const actions = recorded()
    expect(actions.map(({ action }) => action.replace('_persistent_shell', ''))).toEqual([
      'open',
      'exec',
      'exec',
      'exec',
      'open',
      'exec',
      'close',
      'exec',
      'close',
    ])
    expect(actions.map(({ ended }) => ended?.by ?? null)).toEqual([
      null,
      'exit',
      'exit',
      'exit',
      null,
      'timeout',
      null,
      'exit',
      null,
    ])
    expect(actions[2]).toMatchObject({
      ended: { by: 'exit', code: 3 },
      input: { command: expect.stringContaining('exit 3') },
    })
    const place = join(directory, 'logs/actions/000004')
    expect(readFileSync(join(place, 'stdout'), 'utf8')).toBe('1\n2\n')
    expect(readFileSync(join(place, 'stderr'), 'utf8')).toBe('err\n')
    expect(existsSync(join(directory, 'logs/actions/000003/changes.json'))).toBe(true)
    expect(await verifyRun(directory)).toMatchObject({ ok: true })
  })

  it('can be replayed, in shells of the same names', async () => {
    const argv = ['runs', 'replay', 'shelled', '--sandbox', 'runs/shelled-again', '--json']
    const replayed = await run(argv, { cwd: project.directory })
    const report = JSON.parse(replayed.stdout) as ReplayReport
    // What ran out of time then may have been anywhere.
    const others = report.comparisons.filter(({ result }) => result !== 'identical')
    expect(others).toMatchObject([{ number: 6, result: 'not_comparable' }])
    expect(report).toMatchObject({ ok: true, actions: { identical: 8, differs: 0 } })
    expect(replayed.code).toBe(0)
  })
})
