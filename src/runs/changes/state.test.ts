import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { actionDirectoryName, type ChangeSet } from '../../contract/recorded-action.ts'
import { diffActions, diffWhole } from '../diff/diff.ts'
import { codeOf, groundForEach } from '../ground.test-support.ts'
import type { Run } from '../run.ts'
import { sha256 } from './ground.test-support.ts'
import { readHistory } from './history.ts'
import { stateIn, type Moment, type TreeState } from './state.ts'
import { openChangeWatch, type ChangeWatch } from './watch.ts'

const ground = groundForEach()

const stateAt = async (directory: string, moment: Moment): Promise<TreeState> =>
  stateIn(await readHistory(directory), moment)

/** A run at work, as the runtime conducts it. */
async function working(): Promise<{ readonly run: Run; readonly watch: ChangeWatch }> {
  const run = await ground().create()
  await run.transition('running')
  writeFileSync(join(run.directory, 'workspace', 'given'), 'given\n')
  const watch = await openChangeWatch({ directory: run.directory })
  const files = { 'archive/base.json': sha256(readFileSync(join(run.directory, 'archive', 'base.json'))) }
  await run.append({ type: 'start_recorded', summary: 'The start was written down.', data: { files } })
  return { run, watch }
}

const begin = (run: Run, number: number) =>
  run.append({ type: 'action_started', summary: 'It began.', data: { number, action: 'run', about: `step ${number}` } })

async function end(run: Run, number: number, set: ChangeSet | undefined): Promise<void> {
  const place = join(run.directory, 'logs', 'actions', actionDirectoryName(number))
  mkdirSync(place, { recursive: true })
  const files = { 'action.json': '{}', ...(set === undefined ? {} : { 'changes.json': JSON.stringify(set) }) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
  const hashes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, sha256(text)]))
  const data = { number, action: 'run', ended: { by: 'exit', code: 0 }, error: null, hashes }
  await run.append({ type: 'action_ended', summary: 'It ended.', data })
}

async function acted(): Promise<{ readonly run: Run; readonly watch: ChangeWatch; at(path: string): string }> {
  const { run, watch } = await working()
  const at = (path: string): string => join(run.directory, 'workspace', path)
  await begin(run, 1)
  writeFileSync(at('a'), 'one\n')
  await end(run, 1, await watch.look())
  await begin(run, 2)
  writeFileSync(at('a'), 'two\n')
  rmSync(at('given'))
  await end(run, 2, await watch.look())
  return { run, watch, at }
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const paths = async (run: Run, moment: Moment): Promise<readonly string[]> => [
  ...(await stateAt(run.directory, moment)).entries.keys(),
]

describe('the state at a moment', () => {
  it('tells the trees before the first action, after each, and after the last', async () => {
    const { run } = await acted()
    expect(await paths(run, 'start')).toEqual(['workspace/given'])
    expect(await paths(run, 0)).toEqual(['workspace/given'])
    expect(await paths(run, 1)).toEqual(['workspace/a', 'workspace/given'])
    expect(await paths(run, 2)).toEqual(['workspace/a'])
    const { entries, complete, gaps } = await stateAt(run.directory, 'end')
    expect({ complete, gaps }).toEqual({ complete: true, gaps: [] })
    expect(entries.get('workspace/a')).toMatchObject({ kind: 'file', sha256: sha256('two\n'), size: 4, kept: true })
  })

  it('refuses an action that the run does not have', async () => {
    const { run } = await acted()
    expect(await codeOf(() => stateAt(run.directory, 3))).toBe('NOT_FOUND')
  })

  it('follows the order of the looks, where actions overlapped', async () => {
    const { run, watch } = await working()
    const at = join(run.directory, 'workspace', 'a')
    await begin(run, 1)
    await begin(run, 2)
    writeFileSync(at, 'by two')
    await end(run, 2, await watch.look({ concurrent: true }))
    writeFileSync(at, 'by one')
    await end(run, 1, await watch.look({ concurrent: true }))
    const { entries, complete, gaps } = await stateAt(run.directory, 'end')
    expect(entries.get('workspace/a')?.sha256).toBe(sha256('by one'))
    expect({ complete, gaps: gaps.length }).toEqual({ complete: false, gaps: 2 })
  })

  it('an action that could change nothing is no gap, one whose end is unknown is', async () => {
    const { run } = await acted()
    await begin(run, 3)
    await end(run, 3, undefined)
    expect(await stateAt(run.directory, 'end')).toMatchObject({ complete: true })
    await begin(run, 4)
    expect(await stateAt(run.directory, 'end')).toMatchObject({
      complete: false,
      gaps: ['The end of action 4 was not recorded.'],
    })
  })

  it('a record that is not what it was when it was written is not believed, and is told as a gap', async () => {
    const { run } = await acted()
    const changes = join(run.directory, 'logs', 'actions', actionDirectoryName(2), 'changes.json')
    writeFileSync(changes, readFileSync(changes, 'utf8').replace('workspace/a', 'workspace/x'))
    expect(await stateAt(run.directory, 1)).toMatchObject({ complete: true })
    const { entries, gaps } = await stateAt(run.directory, 'end')
    expect([...entries.keys()]).toEqual(['workspace/a', 'workspace/given'])
    expect(gaps).toEqual(['Cannot read changes.json of action 2: it is not what it was when it was recorded.'])
    const start = join(run.directory, 'archive', 'base.json')
    writeFileSync(start, readFileSync(start, 'utf8').replace('workspace/given', 'workspace/taken'))
    expect((await stateAt(run.directory, 'start')).gaps).toEqual([
      'The state before the first action is not known: archive/base.json is not what it was when it was recorded.',
    ])
  })
})

describe('diffWhole', () => {
  it('tells what became of each file, from before the first action to after the last', async () => {
    const { run } = await acted()
    const { files, summary, gaps, actions } = await diffWhole(run.directory)
    expect({ gaps, actions }).toEqual({ gaps: [], actions: 2 })
    expect(summary).toEqual({ created: 1, changed: 0, deleted: 1, renamed: 0, added: 1, removed: 1 })
    expect(files).toMatchObject([
      { change: 'created', after: { path: 'workspace/a' }, content: { hunks: [{ lines: ['+two'] }] } },
      { change: 'deleted', before: { path: 'workspace/given' }, content: { hunks: [{ lines: ['-given'] }] } },
    ])
  })
})

describe('diffActions', () => {
  it('tells what each single action changed', async () => {
    const { run } = await acted()
    const told = await allOf(diffActions(run.directory))
    expect(told.map(({ number, about, summary }) => [number, about, summary.created, summary.changed])).toEqual([
      [1, 'step 1', 1, 0],
      [2, 'step 2', 0, 1],
    ])
    expect(told[1]?.files[0]).toMatchObject({ content: { hunks: [{ lines: ['-one', '+two'] }] } })
  })

  it('an action whose end is unknown stands last, and says so', async () => {
    const { run } = await acted()
    await begin(run, 3)
    const told = await allOf(diffActions(run.directory))
    expect(told.map(({ number, gaps }) => [number, gaps.length])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
    ])
    expect(await allOf(diffActions(run.directory, { only: 3 }))).toMatchObject([{ about: 'step 3', files: [] }])
  })

  it('tells of one alone, and refuses one that there is not', async () => {
    const { run } = await acted()
    expect(await allOf(diffActions(run.directory, { only: 2 }))).toHaveLength(1)
    expect(await codeOf(() => allOf(diffActions(run.directory, { only: 9 })))).toBe('NOT_FOUND')
  })
})
