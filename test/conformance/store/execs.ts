// Rows of execs: what goes in comes out, what has ended stays, and lists page.
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { execStatuses, hasEnded, type ExecRow } from '../../../src/contract/store.ts'
import { allPages, at, execRow, type Subject } from './subject.ts'

export function describeExecs({ store, stores }: Subject): void {
  describe('execs', () => {
    it('a row comes back as it was put in', async () => {
      const { execs } = await store()
      await fc.assert(
        fc.asyncProperty(anyRow, async (row) => {
          await execs.insert(row)
          expect(await execs.find(row.exec_id)).toEqual(row)
        }),
        { numRuns: 60 },
      )
    })

    it('text that could not come back as it was put in is refused, and nothing is stored', async () => {
      const { execs } = await store()
      for (const cmd of ['a\0b', '\ud800', 'x\udc00y']) {
        const row = execRow({ cmd })
        await expect(execs.insert(row)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
        expect(await execs.find(row.exec_id)).toBeUndefined()
      }
      const odd = execRow({ args: ['a\0b', '\ud800', 'x'.repeat(1_000_000)] })
      await execs.insert(odd)
      expect(await execs.find(odd.exec_id)).toEqual(odd)
    })

    it('an id that is taken is refused and the first row stays', async () => {
      const { execs } = await store()
      const row = execRow({ cmd: 'first' })
      await execs.insert(row)
      await expect(execs.insert({ ...row, cmd: 'second' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
      expect(await execs.find(row.exec_id)).toEqual(row)
    })

    it('a failed write takes none of its neighbours with it', async () => {
      const { execs } = await store()
      const taken = execRow()
      await execs.insert(taken)
      const rows = Array.from({ length: 20 }, () => execRow())
      const settled = await Promise.allSettled(
        [...rows.slice(0, 10), taken, ...rows.slice(10)].map((row) => execs.insert(row)),
      )
      expect(settled.map(({ status }) => status === 'rejected')).toEqual(settled.map((_, index) => index === 10))
      expect(await execs.count({})).toBe(21)
    })

    it('an update changes what it names and nothing else', async () => {
      const { execs } = await store()
      const row = execRow({ status: 'RUNNING', owner: 'o1', fence: 3, started_at: at(1) })
      await execs.insert(row)
      const change = {
        status: 'FAILED',
        exit_code: 7,
        error_reason: 'exit_nonzero',
        ended_at: at(5),
        duration_ms: 4000,
        stdout_truncated: true,
        backend: 'docker',
        boundary_id: 'c0ffee',
        image: 'team/tools:1',
        image_id: 'sha256:beef',
        policy_snapshot: { pids: 20 },
      } as const
      expect(await execs.update(row.exec_id, 3, change)).toBe(true)
      expect(await execs.find(row.exec_id)).toEqual({ ...row, ...change })
    })

    it.each(execStatuses.filter(hasEnded).map((status) => [status]))(
      'an exec that has ended as %s changes no more',
      async (status) => {
        const { execs } = await store()
        const row = execRow({ status, fence: 1, owner: 'o1' })
        await execs.insert(row)
        expect(await execs.update(row.exec_id, 1, { status: 'SUCCEEDED', exit_code: 0 })).toBe(false)
        expect(await execs.takeOver(row.exec_id, { from: 'o1', to: 'o2' })).toBeUndefined()
        expect(await execs.requestCancel(row.exec_id, { by: 'o2', at: at(9) })).toEqual(row)
        expect(await execs.find(row.exec_id)).toEqual(row)
      },
    )

    it('what was inserted in doubt is there, or never comes', async () => {
      const { execs } = await store()
      const [there, void_] = [execRow(), execRow()]
      await execs.insert(there)
      expect([await execs.wasInserted(there), await execs.wasInserted(void_)]).toEqual([true, false])
      expect(await execs.count({})).toBe(1)
      expect(await execs.insert(void_)).toEqual({ outcome: 'claimed' })
    })

    it('an exec that has ended never changes again', async () => {
      const { execs } = await store()
      const row = execRow({ status: 'RUNNING', fence: 1, owner: 'o1' })
      await execs.insert(row)
      const ends = (['SUCCEEDED', 'TIMEOUT', 'LOST'] as const).map((status) => execs.update(row.exec_id, 1, { status }))
      expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1)
      const first = await execs.find(row.exec_id)
      expect(await execs.update(row.exec_id, 1, { status: 'LOST' })).toBe(false)
      expect(await execs.find(row.exec_id)).toEqual(first)
    })

    it('who owns an exec that has not ended is told, and nobody else', async () => {
      const { execs } = await store()
      expect(await execs.owners()).toEqual([])
      const owned = [
        { status: 'QUEUED', owner: 'o1' },
        { status: 'RUNNING', owner: 'o1' },
        { status: 'RUNNING', owner: 'o2' },
        { status: 'QUEUED', owner: null },
        { status: 'SUCCEEDED', owner: 'o3' },
      ] as const
      for (const each of owned) await execs.insert(execRow(each))
      expect((await execs.owners()).toSorted()).toEqual(['o1', 'o2'])
    })

    it('what is not there is neither found nor changed', async () => {
      const { execs } = await store()
      expect(await execs.find('exec_no')).toBeUndefined()
      expect(await execs.update('exec_no', 0, { status: 'LOST' })).toBe(false)
      expect(await execs.takeOver('exec_no', { from: null, to: 'o' })).toBeUndefined()
      expect(await execs.requestCancel('exec_no', { by: 'o', at: at(0) })).toBeUndefined()
    })

    it('restoring keeps owner and fence, and lets nothing that has ended begin again', async () => {
      const { execs } = await store()
      const ended = execRow({ status: 'TIMEOUT', owner: 'o1', fence: 9 })
      const open = execRow({ status: 'RUNNING', owner: 'o1', fence: 5, cancel_requested_at: at(1) })
      for (const row of [ended, open]) await execs.insert(row)
      await execs.restore([ended, open].map((row) => ({ ...row, status: 'RUNNING', owner: null, fence: 0 }) as const))
      expect(await execs.find(ended.exec_id)).toEqual(ended)
      expect(await execs.find(open.exec_id)).toEqual(open)
      await execs.restore([{ ...open, status: 'LOST', owner: null, fence: 0, cancel_requested_at: null }])
      expect(await execs.find(open.exec_id)).toEqual({ ...open, status: 'LOST' })
    })

    it('restoring twice is restoring once', async () => {
      const { execs } = await store()
      const stale = execRow({ status: 'RUNNING', owner: 'o1', fence: 2 })
      await execs.insert(stale)
      const rows = [
        { ...stale, status: 'SUCCEEDED', exit_code: 0 } as const,
        ...Array.from({ length: 250 }, (_, second) => execRow({ created_at: at(second), status: 'FAILED' })),
      ]
      for (let times = 0; times < 2; times++) {
        await execs.restore(rows)
        expect(await execs.count({})).toBe(251)
        for (const row of [rows[0]!, rows.at(-1)!]) expect(await execs.find(row.exec_id)).toEqual(row)
      }
    })
  })

  describe('lists of execs', () => {
    it('pages neither repeat nor skip a row that was there from the start', async () => {
      const { execs } = await store()
      // Many share one time: the id decides among them.
      const rows = Array.from({ length: 23 }, (_, index) => execRow({ created_at: at(index % 4) }))
      for (const row of rows) await execs.insert(row)
      const listed = await allPages(async (after) => {
        await execs.insert(execRow({ created_at: at(100) }))
        return await execs.list({}, { limit: 5, after })
      })
      const seen = listed.map(({ exec_id }) => exec_id).filter((id) => rows.some(({ exec_id }) => exec_id === id))
      const newestFirst = rows.toSorted((one, other) => (orderKey(one) < orderKey(other) ? 1 : -1))
      expect(seen).toEqual(newestFirst.map(({ exec_id }) => exec_id))
    })

    it('a page ends before its rows are longer than was asked for, and never without a row', async () => {
      const { execs } = await store()
      const lengths = [10, 10, 3000, 10, 6000, 10]
      const rows = lengths.map((length, index) => execRow({ created_at: at(index), args: ['x'.repeat(length)] }))
      for (const row of rows) await execs.insert(row)
      const pages: number[][] = []
      const listed = await allPages(async (after) => {
        const page = await execs.list({}, { limit: 3, mostText: 4000, after })
        pages.push(page.rows.map(({ args: [text = ''] }) => text.length))
        return page
      })
      expect(pages).toEqual([[10], [6000], [10, 3000, 10], [10]])
      expect(listed).toEqual(rows.toReversed())
    })

    it('what has not ended is listed without what makes a row long', async () => {
      const { execs } = await store()
      const rows = execStatuses.map((status, index) =>
        execRow({ status, created_at: at(index), owner: index % 2 === 0 ? 'o1' : null, boundary_id: `b${index}` }),
      )
      for (const row of rows) await execs.insert(row)
      const short = ({ exec_id, owner, boundary_id, created_at }: ExecRow) => ({
        exec_id,
        owner,
        boundary_id,
        created_at,
      })
      const unended = rows.filter(({ status }) => !hasEnded(status)).toReversed()
      expect(await allPages((after) => execs.listOpen({}, { limit: 1, after }))).toEqual(unended.map(short))
      const owned = await execs.listOpen({ owner: 'o1' }, { limit: 10 })
      expect(owned.rows).toEqual(unended.filter(({ owner }) => owner === 'o1').map(short))
    })

    it('a list holds what its filter names', async () => {
      const { execs } = await store()
      const a = execRow({ project_id: 'p1', task_id: 't1', created_at: at(1) })
      const b = execRow({ project_id: 'p1', task_id: 't2', conversation_id: 'c', created_at: at(2), owner: 'o1' })
      const c = execRow({ project_id: 'p2', task_id: 't1', skill_id: 's.k', created_at: at(3), status: 'RUNNING' })
      for (const row of [a, b, c]) await execs.insert(row)
      await execs.requestCancel(c.exec_id, { by: 'o', at: at(4) })
      const ids = async (filter: Parameters<typeof execs.list>[0]): Promise<readonly string[]> => {
        const { rows, next } = await execs.list(filter, { limit: 10 })
        expect(next).toBeNull()
        expect(await execs.count(filter)).toBe(rows.length)
        return rows.map(({ exec_id }) => exec_id)
      }
      expect(await ids({})).toEqual([c.exec_id, b.exec_id, a.exec_id])
      expect(await ids({ project_id: 'p1' })).toEqual([b.exec_id, a.exec_id])
      expect(await ids({ project_id: 'p1', task_id: 't1' })).toEqual([a.exec_id])
      expect(await ids({ task_id: 't1' })).toEqual([c.exec_id, a.exec_id])
      expect(await ids({ conversation_id: 'c' })).toEqual([b.exec_id])
      expect(await ids({ skill_id: 's.k' })).toEqual([c.exec_id])
      expect(await ids({ status: ['QUEUED'] })).toEqual([b.exec_id, a.exec_id])
      expect(await ids({ status: ['QUEUED', 'RUNNING'] })).toEqual([c.exec_id, b.exec_id, a.exec_id])
      expect(await ids({ status: [] })).toEqual([])
      expect(await ids({ owner: 'o1' })).toEqual([b.exec_id])
      expect(await ids({ owner: null })).toEqual([c.exec_id, a.exec_id])
      expect(await ids({ cancel_requested: true })).toEqual([c.exec_id])
      expect(await ids({ project_id: 'nobody' })).toEqual([])
    })

    it('what waits and what runs is counted at one moment, so that an exec which begins is counted once', async () => {
      const [one, other] = await stores(2)
      const { execs } = one!
      const rows = Array.from({ length: 30 }, (_, second) => execRow({ created_at: at(second) }))
      for (const row of rows) await execs.insert(row)
      await execs.insert(execRow({ status: 'RUNNING', owner: 'o2' }))
      await execs.insert(execRow({ status: 'SUCCEEDED', owner: 'o1' }))
      const [left] = rows
      let isOver = false
      const claiming = async (): Promise<void> => {
        while ((await other!.execs.claimNext({ owner: 'o1', started_at: at(50) })) !== undefined);
        isOver = true
      }
      const claimed = claiming()
      const seen = new Set<number>()
      while (!isOver) {
        const { queued, running } = await execs.countLoad({ owner: 'o1', project_id: 'p1', except: [] })
        expect(queued + running).toBe(30)
        seen.add(running)
        // SQLite answers at once, and the others must have their turn.
        await turn()
      }
      await claimed
      expect(seen.size, 'control: it was looked at while they began').toBeGreaterThan(1)
      await execs.insert(execRow({ project_id: 'p2' }))
      const load = (except: readonly string[]) => execs.countLoad({ owner: 'o1', project_id: 'p2', except })
      expect(await load([])).toEqual({ queued: 1, queuedOfProject: 1, running: 30 })
      expect(await load([left!.exec_id, 'exec_00000000'])).toMatchObject({ running: 29 })
      await execs.insert(execRow())
      expect(await load([])).toEqual({ queued: 2, queuedOfProject: 1, running: 30 })
    })

    it.each([[0], [-1], [1001], [1.5], [Number.NaN]])('a page of %d rows is refused', async (limit) => {
      const { execs } = await store()
      await expect(execs.list({}, { limit })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })
  })
}

const orderKey = ({ created_at, exec_id }: ExecRow): string => `${created_at} ${exec_id}`

const word = fc.stringMatching(/^[A-Za-z0-9_.-]{1,30}$/)
const text = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((each) => !each.includes('\0'))
const time = fc.integer({ min: 0, max: 1e9 }).map(at)
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null })

const anyRow: fc.Arbitrary<ExecRow> = fc
  .record({
    project_id: word,
    task_id: orNull(word),
    conversation_id: orNull(word),
    skill_id: orNull(word),
    image: orNull(text),
    image_id: orNull(word),
    image_asked: orNull(text),
    cmd: text,
    args: fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 }),
    cwd: orNull(text),
    env_keys: fc.array(word, { maxLength: 5 }),
    policy_snapshot: orNull(
      fc.dictionary(word, fc.jsonValue()).map((each) => JSON.parse(JSON.stringify(each)) as object),
    ),
    status: fc.constantFrom(...execStatuses),
    exit_code: orNull(fc.integer({ min: -1, max: 255 })),
    error_reason: orNull(text),
    started_at: orNull(time),
    ended_at: orNull(time),
    duration_ms: orNull(fc.integer({ min: 0, max: 2 ** 50 })),
    artifacts_path: text,
    stdout_truncated: fc.boolean(),
    stderr_truncated: fc.boolean(),
    created_at: time,
    owner: orNull(word),
    fence: fc.integer({ min: 0, max: 2 ** 50 }),
    backend: orNull(word),
    boundary_id: orNull(word),
    cancel_requested_at: orNull(time),
  })
  .map((row) => execRow(row as Partial<ExecRow>))
