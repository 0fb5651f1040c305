// Idempotency keys, tokens, and the index of runs.
import { describe, expect, it } from 'vitest'
import { allPages, at, execRow, request, runRow, tokenRow, type Subject } from './subject.ts'

export function describeKeys({ store, stores }: Subject): void {
  describe('idempotency', () => {
    it('under one key there is one subject, however many ask at once', async () => {
      const servers = await stores(4)
      const rows = Array.from({ length: 20 }, () => execRow())
      const claims = await Promise.all(
        rows.map((row, index) => servers[index % 4]!.execs.insert(row, { request: request('k') })),
      )
      const winner = rows[claims.findIndex(({ outcome }) => outcome === 'claimed')]!
      const row = { ...request('k'), subject: winner.exec_id, answer: null }
      expect(claims.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1)
      expect(claims.filter(({ outcome }) => outcome === 'repeated')).toEqual(
        Array.from({ length: 19 }, () => ({ outcome: 'repeated', row })),
      )
      expect((await servers[0]!.execs.list({}, { limit: 10 })).rows).toEqual([winner])
    })

    it('another body under the same key is a mismatch', async () => {
      const { execs, idempotency } = await store()
      const row = execRow()
      await execs.insert(row, { request: request('k', 'a') })
      const other = execRow()
      expect(await execs.insert(other, { request: request('k', 'b') })).toEqual({ outcome: 'mismatch' })
      expect(await execs.find(other.exec_id)).toBeUndefined()
      expect(await idempotency.claim({ ...request('k', 'c'), subject: 'x' })).toEqual({ outcome: 'mismatch' })
    })

    it('a key and its exec are stored together or not at all', async () => {
      const { execs, idempotency } = await store()
      const row = execRow()
      await execs.insert(row)
      await expect(execs.insert(row, { request: request('k') })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
      expect(await idempotency.find(request('k'))).toBeUndefined()
    })

    it('a key belongs to its project', async () => {
      const { idempotency } = await store()
      expect(await idempotency.claim({ ...request('k'), subject: 'x' })).toEqual({ outcome: 'claimed' })
      const foreign = { ...request('k', 'b'), project_id: 'p2', subject: 'y' }
      expect(await idempotency.claim(foreign)).toEqual({ outcome: 'claimed' })
      expect(await idempotency.find({ project_id: 'p3', key: 'k' })).toBeUndefined()
    })

    it('the first answer stays', async () => {
      const { idempotency } = await store()
      const asked = { ...request('k'), subject: 'run_1' }
      await idempotency.claim(asked)
      for (const answer of ['{"a":1}', '{"a":2}']) await idempotency.finish({ ...asked, answer })
      const row = { ...asked, answer: '{"a":1}' }
      expect(await idempotency.claim({ ...asked, subject: 'run_2' })).toEqual({ outcome: 'repeated', row })
      await idempotency.release(asked)
      expect(await idempotency.find(asked)).toEqual(row)
    })

    it('a key of which nothing came can be released, and old ones are forgotten', async () => {
      const { idempotency } = await store()
      const asked = { ...request('k'), subject: 'run_1' }
      await idempotency.claim(asked)
      await idempotency.release({ ...asked, subject: 'run_2' })
      expect(await idempotency.find(asked)).toBeDefined()
      await idempotency.release(asked)
      expect(await idempotency.find(asked)).toBeUndefined()
      for (const second of [1, 2, 3])
        await idempotency.claim({ ...request(`k${second}`), created_at: at(second), subject: 's' })
      expect(await idempotency.purge({ than: at(3) })).toBe(2)
      expect(await idempotency.find(request('k3'))).toBeDefined()
    })
  })

  describe('tokens', () => {
    it('a token is found by its hash and by its id, with all that is known of it', async () => {
      const { tokens } = await store()
      expect(await tokens.count()).toBe(0)
      const row = tokenRow('t1', {
        project: 'p',
        expires_at: at(9),
        not_before: at(1),
        created_by: 't0',
        scopes: ['admin'],
      })
      await tokens.insert(row)
      expect(await tokens.find('t1')).toEqual(row)
      expect(await tokens.findByHash(row.hash)).toEqual(row)
      expect(await tokens.findByHash('t1')).toBeUndefined()
      expect(await tokens.count()).toBe(1)
    })

    it('of many first tokens one is kept', async () => {
      const all = await stores(4)
      const answers = await Promise.all(
        all.flatMap(({ tokens }, store) =>
          Array.from({ length: 5 }, (_, each) => tokens.insertFirst(tokenRow(`t${store}${each}`))),
        ),
      )
      expect(answers.filter(Boolean)).toHaveLength(1)
      for (const { tokens } of all) {
        expect(await tokens.count()).toBe(1)
        expect(await tokens.insertFirst(tokenRow('later'))).toBe(false)
      }
    })

    it('a hash or an id that is there already is refused', async () => {
      const { tokens } = await store()
      await tokens.insert(tokenRow('t1'))
      for (const row of [tokenRow('t1', { hash: 'f'.repeat(64) }), tokenRow('t2', { hash: tokenRow('t1').hash })])
        await expect(tokens.insert(row)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
      expect(await tokens.count()).toBe(1)
    })

    it('a token that was revoked stays revoked, with its first time', async () => {
      const { tokens } = await store()
      await tokens.insert(tokenRow('t1'))
      for (const second of [5, 6]) expect(await tokens.revoke('t1', at(second))).toBe(true)
      expect((await tokens.find('t1'))?.revoked_at).toBe(at(5))
      expect(await tokens.revoke('nobody', at(5))).toBe(false)
    })

    it('tokens are listed newest first, of one project or of all', async () => {
      const { tokens } = await store()
      const rows = [1, 2, 3, 4, 5].map((n) => tokenRow(`t${n}`, { created_at: at(n % 3), project: n > 2 ? 'p' : null }))
      for (const row of rows) await tokens.insert(row)
      const ids = async (project?: string): Promise<readonly string[]> =>
        (await allPages((after) => tokens.list({ project }, { limit: 2, after }))).map(({ id }) => id)
      expect(await ids()).toEqual(['t5', 't2', 't4', 't1', 't3'])
      expect(await ids('p')).toEqual(['t5', 't4', 't3'])
      expect(await ids('q')).toEqual([])
    })
  })

  describe('runs', () => {
    it('an older state never takes the place of a newer one', async () => {
      const { runs } = await store()
      const row = runRow({ state_seq: 5, status: 'completed' })
      await runs.put(row)
      await runs.put({ ...row, state_seq: 4, status: 'running' })
      expect(await runs.find(row.run_id)).toEqual(row)
      const newer = { ...row, state_seq: 6, updated_at: at(6), directory: '/elsewhere' }
      await runs.put(newer)
      expect(await runs.find(row.run_id)).toEqual(newer)
      await runs.remove(row.run_id)
      expect(await runs.find(row.run_id)).toBeUndefined()
    })

    it('of several that are inserted under one id at once one is there, and stays as it is', async () => {
      const { runs } = await store()
      const one = runRow()
      const rows = Array.from({ length: 8 }, (_, n) => ({ ...one, project_id: `p${n}`, state_seq: n + 1 }))
      const inserted = await Promise.all(rows.map((row) => runs.insert(row)))
      expect(inserted.filter((isNew) => isNew)).toHaveLength(1)
      const first = rows[inserted.indexOf(true)]
      expect(await runs.insert({ ...one, state_seq: 100 })).toBe(false)
      expect(await runs.find(one.run_id)).toEqual(first)
      // Control: whoever brings it up to date does so.
      await runs.put({ ...one, state_seq: 100 })
      expect(await runs.find(one.run_id)).toMatchObject({ state_seq: 100 })
    })

    it('runs are listed newest first, by what the filter names', async () => {
      const { runs } = await store()
      const rows = Array.from({ length: 9 }, (_, n) =>
        runRow({
          run_id: `run_${n}`,
          created_at: at(n % 4),
          project_id: n % 2 === 0 ? 'p' : null,
          session_id: `s${n % 3}`,
          status: n < 5 ? 'failed' : 'pending',
        }),
      )
      for (const row of rows) await runs.put(row)
      const ids = async (filter: Parameters<typeof runs.list>[0]): Promise<readonly string[]> =>
        (await allPages((after) => runs.list(filter, { limit: 2, after }))).map(({ run_id }) => run_id.slice(4))
      expect(await ids({})).toEqual(['7', '3', '6', '2', '5', '1', '8', '4', '0'])
      expect(await ids({ project_id: 'p' })).toEqual(['6', '2', '8', '4', '0'])
      expect(await ids({ project_id: 'p', session_id: 's2' })).toEqual(['2', '8'])
      expect(await ids({ status: ['pending'] })).toEqual(['7', '6', '5', '8'])
      expect(await ids({ task_id: 'nobody' })).toEqual([])
    })
  })
}
