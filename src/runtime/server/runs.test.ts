import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RunTable, Store } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createRun } from '../../runs/run.ts'
import { openStore } from '../../store/open.ts'
import { rowOf } from '../runs/row.ts'
import { openServedBackends, type ServedBackends } from './backends.ts'
import { openRunHouse, type RunHouse, type RunHouseOptions } from './runs.ts'

let place: string
let store: Store
let backends: ServedBackends
const houses: RunHouse[] = []
const faults: unknown[] = []

beforeEach(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-run-house-')))
  const state = join(place, 'state')
  mkdirSync(state, { mode: 0o700 })
  vi.stubEnv('GLOVEBOX_STATE_DIR', state)
  store = await openStore({ url: join(state, 'glovebox.db') })
  backends = openServedBackends(['local'])
})
afterEach(async () => {
  await Promise.all(houses.splice(0).map((house) => house.stop()))
  // What brings the index up to date behind the end of a run comes a turn later.
  await new Promise((resolve) => setImmediate(resolve))
  await backends.close()
  await store.close()
  vi.unstubAllEnvs()
  rmSync(place, { recursive: true, force: true })
  faults.length = 0
})

function open(options: Partial<RunHouseOptions> = {}): RunHouse {
  const house = openRunHouse({
    root: join(place, 'runs'),
    index: store.runs,
    backends,
    settings: { layers: [] },
    places: 32,
    onFault: (error) => void faults.push(error),
    ...options,
  })
  houses.push(house)
  return house
}

const asked = (command: readonly string[] = ['sleep', '60']) => ({
  project: 'p',
  tokenId: 'tok_1',
  prompt: 'Do it.',
  command,
})
const directories = (): readonly string[] => readdirSync(join(place, 'runs', 'p'))

describe('a run that waits for review', () => {
  it('has been let go of before anybody decides on it', async () => {
    const house = open()
    const row = await house.create({ ...asked(['true']), review: true })
    while ((await house.refresh(row)).status !== 'review_required')
      await new Promise((resolve) => setImmediate(resolve))
    await house.whenAtRest(row)
    expect(house.running).toBe(0)
  })
})

describe('the limit of runs at work', () => {
  it('holds however many are asked for at once; who is too many is told when to come again', async () => {
    const house = open({ places: 6 })
    const most: number[] = []
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () => house.create(asked()).finally(() => most.push(house.running))),
    )
    const refused = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    expect(refused).toHaveLength(9)
    for (const reason of refused)
      expect(reason).toMatchObject({ code: 'TOO_MANY_REQUESTS', facts: { retryAfterSeconds: 5 } })
    expect(Math.max(...most)).toBe(3)
    expect(directories()).toHaveLength(3)
  })

  it('a token leaves as many places free as it has, so that whoever comes next finds some', async () => {
    const house = open({ places: 8 })
    const made = async (tokenId: string): Promise<number> => {
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => house.create({ ...asked(), tokenId })))
      return all.filter(({ status }) => status === 'fulfilled').length
    }
    expect([await made('tok_1'), await made('tok_2'), await made('tok_3'), await made('tok_4')]).toEqual([4, 2, 1, 1])
    expect(await made('tok_5')).toBe(0)
    expect(house.running).toBe(8)
  })

  it('a run that comes to nothing, or has ended, gives its place back', async () => {
    const house = open({ places: 1 })
    const refused = { ...asked(), policy: { memoryMb: 1_000_000 } }
    for (let tries = 0; tries < 3; tries++)
      await expect(house.create(refused)).rejects.toMatchObject({ code: 'POLICY_ESCALATION' })
    expect(house.running).toBe(0)
    const { run_id: runId } = await house.create({ ...asked(['true']), runId: 'first' })
    await expect.poll(() => house.running).toBe(0)
    await expect(house.create({ ...asked(), runId })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(house.running).toBe(0)
    await house.create(asked())
    expect(house.running).toBe(1)
  })
})

const fresh = { isRepeated: false, since: '2026-01-01T00:00:00.000Z' }
const again = { ...fresh, isRepeated: true }

/** The index as it is, but that it takes no rows while it is away. */
function awayIndex(): { readonly index: RunTable; comeBack(): void } {
  let isAway = true
  const requireHere = (): void => {
    if (isAway)
      throw new GloveboxError('STORE_UNAVAILABLE', 'Cannot keep the run: the store is away', {
        hint: 'Nothing was written.',
      })
  }
  const index: RunTable = {
    ...store.runs,
    async insert(...asked) {
      requireHere()
      return store.runs.insert(...asked)
    },
    async put(...asked) {
      requireHere()
      return store.runs.put(...asked)
    },
  }
  return { index, comeBack: () => (isAway = false) }
}

describe('the index of runs', () => {
  it('is told of a new run on the disk, and of what its files say as well without', async () => {
    const puts: [state: number, durability: string | undefined][] = []
    const index: RunTable = {
      ...store.runs,
      insert: async (row) => {
        puts.push([row.state_seq, undefined])
        return store.runs.insert(row)
      },
      put: async (row, options) => {
        puts.push([row.state_seq, options?.durability])
        await store.runs.put(row, options)
      },
    }
    const { run_id: runId } = await open({ index }).create(asked(['true']))
    await expect.poll(() => store.runs.find(runId)).toMatchObject({ status: 'completed' })
    expect(puts[0]).toEqual([1, undefined])
    expect(new Set(puts.slice(1).map(([, durability]) => durability))).toEqual(new Set(['written']))
  })

  it('that does not take a run which has begun is told of it with its next step, and its caller that it has', async () => {
    const { index, comeBack } = awayIndex()
    const house = open({ index })
    const wanted = { ...asked(['sh', '-c', 'until [ -e go ]; do sleep 0.05; done']), runId: 'run_one' }
    await expect(house.create(wanted)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      facts: { outcome: 'unknown', run_id: 'run_one' },
      hint: expect.not.stringContaining('Nothing was written') as string,
    })
    expect([house.running, await store.runs.find('run_one')]).toEqual([1, undefined])
    comeBack()
    writeFileSync(join(place, 'runs', 'p', 'run_one', 'workspace', 'go'), '')
    await expect.poll(() => store.runs.find('run_one')).toMatchObject({ status: 'completed', project_id: 'p' })
  })

  it('that cannot be told what the files say keeps nobody from what they say', async () => {
    const { run_id: runId } = await open().create(asked(['true']))
    await expect.poll(() => store.runs.find(runId)).toMatchObject({ status: 'completed' })
    const row = { ...(await store.runs.find(runId))!, status: 'running' as const, state_seq: 1 }
    const house = open({ index: awayIndex().index })
    expect(await house.refresh(row)).toMatchObject({ status: 'completed' })
    expect(faults).toMatchObject([{ code: 'STORE_UNAVAILABLE' }])
  })
})

describe('an id that two projects choose at the same time', () => {
  it('is the run of one of them, also where each asks a server of its own, and of the other nothing stays', async () => {
    const houses = { p: open(), q: open() }
    const ask = (project: 'p' | 'q') => houses[project].create({ ...asked(), project, runId: 'mine' })
    const [p, q] = await Promise.allSettled([ask('p'), ask('q')])
    const [won, lost] = p.status === 'fulfilled' ? (['p', 'q'] as const) : (['q', 'p'] as const)
    expect([p.status, q.status].toSorted()).toEqual(['fulfilled', 'rejected'])
    expect([p, q].find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'ALREADY_EXISTS' } })
    expect(await store.runs.find('mine')).toMatchObject({
      project_id: won,
      directory: join(place, 'runs', won, 'mine'),
    })
    expect([houses[won].running, houses[lost].running]).toEqual([1, 0])
    expect([won, lost].map((project) => readdirSync(join(place, 'runs', project)))).toEqual([['mine'], []])
  })

  it('stays with whoever the index has it from, where the run of the other began while the index was away', async () => {
    const { index, comeBack } = awayIndex()
    const wanted = { ...asked(['sh', '-c', 'until [ -e go ]; do sleep 0.05; done']), runId: 'mine' }
    await expect(open({ index }).create(wanted)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await open().create({ ...asked(), project: 'q', runId: 'mine' })
    comeBack()
    writeFileSync(join(place, 'runs', 'p', 'mine', 'workspace', 'go'), '')
    await expect.poll(() => faults).toContainEqual(expect.objectContaining({ code: 'ALREADY_EXISTS' }))
    expect(await store.runs.find('mine')).toMatchObject({
      project_id: 'q',
      directory: join(place, 'runs', 'q', 'mine'),
    })
  })
})

describe('a run under a key', () => {
  it('that begins and cannot be put into the index is the answer to the repetition, while it works', async () => {
    const { index, comeBack } = awayIndex()
    const house = open({ index })
    const wanted = { ...asked(), runId: 'run_one' }
    await expect(house.createOnce(wanted, fresh)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect([house.running, await store.runs.find('run_one')]).toEqual([1, undefined])
    comeBack()
    expect(await house.createOnce(wanted, again)).toMatchObject({ run_id: 'run_one', project_id: 'p' })
    expect([house.running, directories()]).toEqual([1, ['run_one']])
    expect(await store.runs.find('run_one')).toMatchObject({ directory: join(place, 'runs', 'p', 'run_one') })
  })

  it('that never came to be is made once, also where several servers find that at the same time', async () => {
    const wanted = { ...asked(['true']), runId: 'run_one' }
    const servers = [open(), open(), open()]
    const [first, ...others] = await Promise.all(servers.map((house) => house.createOnce(wanted, again)))
    for (const other of others) expect(other.created_at).toBe(first?.created_at)
    expect(directories()).toEqual(['run_one'])
  })

  it('of a server that is gone is ended and told as it is, and not begun again', async () => {
    const directory = join(place, 'runs', 'p', 'run_one')
    const dead = await createRun({ runId: 'run_one', sandboxPath: directory, prompt: 'x', config: {} })
    await dead.close()
    expect(await open().createOnce({ ...asked(), runId: 'run_one' }, again)).toMatchObject({
      run_id: 'run_one',
      status: 'failed',
      failure_reason: 'server_crash',
    })
    expect(await store.runs.find('run_one')).toMatchObject({ status: 'failed' })
  })

  it('whose place holds what cannot be read is refused, and nothing is begun', async () => {
    mkdirSync(join(place, 'runs', 'p', 'run_one'), { recursive: true })
    const house = open()
    await expect(house.createOnce({ ...asked(), runId: 'run_one' }, again)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect([house.running, directories()]).toEqual([0, ['run_one']])
  })

  it('with an id that the caller chose is not the run of another, older or of another project', async () => {
    const house = open()
    const chosen = { ...asked(['true']), runId: 'mine' }
    const { created_at: createdAt } = await house.create(chosen)
    const later = new Date(Date.parse(createdAt) + 1).toISOString()
    const taken = { code: 'ALREADY_EXISTS' }
    for (const binding of [fresh, { isRepeated: true, since: later }])
      await expect(house.createOnce(chosen, { ...binding, isChosen: true })).rejects.toMatchObject(taken)
    await expect(house.createOnce({ ...chosen, project: 'q' }, again)).rejects.toMatchObject(taken)
    // Control: one that was made since the key was bound is its own.
    expect(await house.createOnce(chosen, { isRepeated: true, since: createdAt, isChosen: true })).toMatchObject({
      run_id: 'mine',
    })
  })
})

describe('runs of a server that is gone', () => {
  it('are ended however many the index has, and however many pages they fill', async () => {
    for (const runId of ['run_one', 'run_two', 'run_three']) {
      const directory = join(place, 'runs', 'p', runId)
      const dead = await createRun({ runId, sandboxPath: directory, prompt: 'x', config: {} })
      await store.runs.put(rowOf(dead.record, directory, 'p'))
      await dead.close()
    }
    const list: RunTable['list'] = (filter, asked) => store.runs.list(filter, { ...asked, limit: 1 })
    const house = open({ index: { ...store.runs, list } })
    expect([await house.recover(), await house.recover()]).toEqual([3, 0])
    const { rows } = await store.runs.list({}, { limit: 10 })
    expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed'])
  })
})
