import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { actionDirectoryName, type KeptAction, type RecordedAction } from '../contract/recorded-action.ts'
import { indexActions, readActions } from './actions.ts'
import { codeOf, groundForEach, thrownBy } from './ground.test-support.ts'
import type { Run } from './run.ts'

const ground = groundForEach()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const kept = (text: string) => ({ bytes: text.length, kept_bytes: text.length, sha256: sha256(text) })

const recordOf = (number: number): RecordedAction => ({
  number,
  action: 'run',
  input: { command: `echo ${number}`, cwd: null, timeout_ms: null },
  env_names: [],
  stdin: null,
  content: null,
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 3,
  ended: { by: 'exit', code: 0 },
  stdout: kept(`${number}\n`),
  stderr: kept(''),
  output_sha256: null,
  error: null,
})

const begin = (run: Run, number: number) =>
  run.append({ type: 'action_started', summary: 'It began.', data: { number, action: 'run', about: `echo ${number}` } })

async function end(run: Run, number: number, record: unknown = recordOf(number)): Promise<void> {
  const place = join(run.directory, 'logs', 'actions', actionDirectoryName(number))
  mkdirSync(place, { recursive: true })
  const files = { 'action.json': JSON.stringify(record), stdout: `${number}\n` }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
  const hashes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, sha256(text)]))
  const data = { number, action: 'run', ended: { by: 'exit', code: 0 }, error: null, hashes }
  await run.append({ type: 'action_ended', summary: 'It ended.', data })
}

async function runWith(numbers: readonly number[]): Promise<Run> {
  const run = await ground().create()
  await run.transition('running')
  for (const number of numbers) {
    await begin(run, number)
    await end(run, number)
  }
  return run
}

/** Its record speaks of an output that no event vouches for. */
async function runWithMissingOutput(): Promise<Run> {
  const run = await ground().create()
  await run.transition('running')
  await begin(run, 1)
  await end(run, 1, { ...recordOf(1), stdout: kept('more\n') })
  rmSync(placeOf(run, 1, 'stdout'))
  return run
}

async function all(directory: string): Promise<readonly KeptAction[]> {
  const found: KeptAction[] = []
  for await (const action of readActions(directory)) found.push(action)
  return found
}

const placeOf = (run: Run, number: number, name: string): string =>
  join(run.directory, 'logs', 'actions', actionDirectoryName(number), name)

describe('readActions', () => {
  it('gives the actions in the order of their start, with their bytes', async () => {
    const run = await runWith([1, 2, 3])
    const actions = await all(run.directory)
    expect(actions.map(({ number, input }) => [number, input['command']])).toEqual([
      [1, 'echo 1'],
      [2, 'echo 2'],
      [3, 'echo 3'],
    ])
    expect(Buffer.from((await actions[1]?.files.read('stdout')) ?? []).toString()).toBe('2\n')
  })

  it('no bytes have no file, and are read as none', async () => {
    const [action] = await all((await runWith([1])).directory)
    expect(await action?.files.read('stderr')).toHaveLength(0)
    const [other] = await all((await runWithMissingOutput()).directory)
    expect(await codeOf(async () => other?.files.read('stdout'))).toBe('RECORD_DAMAGED')
  })

  it('tells which actions began while another was at work, by the order of events', async () => {
    const run = await runWith([1])
    await begin(run, 2)
    await begin(run, 3)
    await end(run, 3)
    await end(run, 2)
    const actions = await all(run.directory)
    expect(actions.map(({ number, overlaps }) => [number, overlaps])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ])
  })

  it('names actions that began and of whose end there is no record', async () => {
    const run = await runWith([1])
    await begin(run, 2)
    expect((await indexActions(run.directory)).unended).toEqual([{ number: 2, action: 'run', about: 'echo 2' }])
    expect((await all(run.directory)).map(({ number }) => number)).toEqual([1])
  })

  describe('bytes that are not what the record says of them are refused with RECORD_DAMAGED', () => {
    it.each(['action.json', 'stdout'])('%s with one changed byte', async (name) => {
      const run = await runWith([1])
      const path = placeOf(run, 1, name)
      writeFileSync(path, readFileSync(path, 'utf8').replace('1', '2'))
      const error = await thrownBy(async () => {
        for (const action of await all(run.directory)) await action.files.read('stdout')
      })
      expect(error).toMatchObject({ code: 'RECORD_DAMAGED', facts: { number: 1, file: name } })
    })
  })

  it('refuses an action whose files are gone, and one that is another', async () => {
    const run = await runWith([1, 2])
    renameSync(join(run.directory, 'logs', 'actions'), join(run.directory, 'logs', 'kept'))
    expect(await codeOf(() => all(run.directory))).toBe('RECORD_DAMAGED')
    renameSync(join(run.directory, 'logs', 'kept'), join(run.directory, 'logs', 'actions'))
    rmSync(placeOf(run, 1, ''), { recursive: true })
    cpSync(placeOf(run, 2, ''), placeOf(run, 1, ''), { recursive: true })
    expect(await codeOf(() => all(run.directory))).toBe('RECORD_DAMAGED')
  })

  it('follows no link, neither at the end nor on the way', async () => {
    const run = await runWith([1])
    const elsewhere = join(ground().directory, 'elsewhere')
    cpSync(join(run.directory, 'logs', 'actions'), elsewhere, { recursive: true })
    rmSync(placeOf(run, 1, 'stdout'))
    symlinkSync(join(elsewhere, actionDirectoryName(1), 'stdout'), placeOf(run, 1, 'stdout'))
    const [action] = await all(run.directory)
    expect(await codeOf(async () => action?.files.read('stdout'))).toBe('RECORD_DAMAGED')
    rmSync(join(run.directory, 'logs', 'actions'), { recursive: true })
    symlinkSync(elsewhere, join(run.directory, 'logs', 'actions'))
    expect(await codeOf(() => all(run.directory))).toBe('RECORD_DAMAGED')
  })

  it('refuses a record that is not of its schema, though the log vouches for it', async () => {
    const run = await runWith([])
    await begin(run, 1)
    await end(run, 1, { ...recordOf(1), surprise: true })
    expect(await codeOf(() => all(run.directory))).toBe('RECORD_DAMAGED')
  })

  it('gives bytes only for what the record speaks of', async () => {
    const run = await runWith([1])
    const [action] = await all(run.directory)
    expect(await codeOf(async () => action?.files.read('stdin'))).toBe('RECORD_DAMAGED')
  })
})
