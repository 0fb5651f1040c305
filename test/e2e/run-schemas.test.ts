// A run with actions of every kind, in a real sandbox: each file that it leaves fits the schema that is published for it.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { misfits, schemaNames } from '../fixtures/published-schemas.ts'
import { makeProject, type Project } from './command-line.ts'

const { runs } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

let project: Project
let stateBefore: string | undefined
beforeEach(() => {
  project = makeProject()
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

const refused = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

async function everyKind(directory: string): Promise<void> {
  await runs.start({
    prompt: 'Do all of it.',
    sandboxPath: directory,
    sessionTitle: 'All',
    taskTitle: 'Every kind',
    deliverables: ['report.md'],
    executor: {
      name: 'own',
      async execute({ sandbox, say, note, recordSystemPrompt }) {
        await recordSystemPrompt('Be thorough.')
        await sandbox.files.write('/deliverables/report.md', 'Done.\n')
        await sandbox.files.write('/workspace/a.txt', 'one\n')
        await sandbox.commands.run('ln -s a.txt link; mkdir d; echo two > d/b; rm a.txt; exit 3')
        await sandbox.commands.run(['cat'], { stdin: 'from outside', env: { NAME: 'value' } })
        await sandbox.commands.run(['sleep', '20'], { timeoutMs: 100 })
        await sandbox.commands.run('kill -9 $$')
        await sandbox.files.list('/workspace')
        await refused(sandbox.files.read('/workspace/missing'))
        await refused(sandbox.execute('no_such_action', {}))
        say('All of it.\n')
        await note({ type: 'thought', summary: 'Enough.', data: { deep: [{ nothing: null }] } })
        return { status: 'completed', summary: 'It is done.' }
      },
    },
  })
}

describe('every file of a real run', () => {
  it('fits its published schema', async () => {
    const directory = join(project.directory, 'runs/one')
    await everyKind(directory)
    const text = (name: string): string => readFileSync(join(directory, name), 'utf8')
    const actions = readdirSync(join(directory, 'logs/actions')).toSorted()
    const inActions = (file: string): readonly unknown[] =>
      actions
        .filter((action) => readdirSync(join(directory, 'logs/actions', action)).includes(file))
        .map((action) => JSON.parse(text(`logs/actions/${action}/${file}`)) as unknown)
    const files: Readonly<Record<string, readonly unknown[]>> = {
      run: [JSON.parse(text('run.json'))],
      session: [JSON.parse(text('session.json'))],
      task: [parse(text('task.yaml'))],
      settings: [parse(text('config.yaml'))],
      'sandbox-manifest': [JSON.parse(text('sandbox-manifest.json'))],
      'artifact-manifest': [JSON.parse(text('artifact-manifest.json'))],
      event: text('events.jsonl')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
      action: inActions('action.json'),
      changes: inActions('changes.json'),
      base: [JSON.parse(text('archive/base.json'))],
      fork: [(await runs.fork({ directory, sandboxPath: join(project.directory, 'runs/two'), method: 'copy' })).fork],
    }
    expect(Object.keys(files).toSorted()).toEqual(schemaNames.toSorted())
    expect([actions.length, files['changes']?.length]).toEqual([9, expect.any(Number)])
    for (const [name, values] of Object.entries(files))
      for (const value of values) expect([name, value, misfits(name, value)]).toEqual([name, value, []])
    expect(await runs.verify(directory)).toMatchObject({ ok: true, status: 'completed', checked: { actions: 9 } })
  })
})
