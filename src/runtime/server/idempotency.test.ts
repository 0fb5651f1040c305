import { describe, expect, it, vi } from 'vitest'
import type { IdempotencyRow, IdempotencyTable } from '../../contract/idempotency.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openOnce, type Bound } from './idempotency.ts'

function memoryTable(): IdempotencyTable & { readonly rows: Map<string, IdempotencyRow> } {
  const rows = new Map<string, IdempotencyRow>()
  const nameOf = ({ project_id, key }: { readonly project_id: string; readonly key: string }): string =>
    `${project_id} ${key}`
  return {
    rows,
    async claim(request) {
      const row = rows.get(nameOf(request))
      if (row === undefined) {
        rows.set(nameOf(request), { ...request, answer: null })
        return { outcome: 'claimed' }
      }
      return row.body_sha256 === request.body_sha256 ? { outcome: 'repeated', row } : { outcome: 'mismatch' }
    },
    async finish(at) {
      const row = rows.get(nameOf(at))
      if (row !== undefined) rows.set(nameOf(at), { ...row, answer: at.answer })
    },
    find: async (at) => rows.get(nameOf(at)),
    async release(at) {
      if (rows.get(nameOf(at))?.subject === at.subject) rows.delete(nameOf(at))
    },
    purge: async () => 0,
  }
}

const request = { project: 'p', key: 'k', bodySha256: 'a', subject: 's' }

describe('once', () => {
  it('under one key there is one effect, however many ask at once', async () => {
    const once = openOnce(memoryTable())
    let effects = 0
    const ask = (): Promise<{ readonly n: number }> => once.perform(request, async () => ({ n: ++effects }))
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }])
    expect(await ask()).toEqual({ n: 1 })
    expect(await once.perform({ ...request, project: 'q' }, async () => ({ n: ++effects }))).toEqual({ n: 2 })
    expect(await once.perform({ ...request, key: undefined }, async () => ({ n: ++effects }))).toEqual({ n: 3 })
  })

  it('another body under the same key is refused, during and after', async () => {
    const once = openOnce(memoryTable())
    const first = once.perform(request, async () => 1)
    await expect(once.perform({ ...request, bodySha256: 'b' }, async () => 2)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    })
    await first
    await expect(once.perform({ ...request, bodySha256: 'b' }, async () => 2)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    })
  })

  it('the id is bound to the key before anything is made', async () => {
    const table = memoryTable()
    const seen = await openOnce(table).perform(request, async () => [...table.rows.values()])
    expect(seen).toMatchObject([{ key: 'k', subject: 's', answer: null }])
  })

  it('what failed is tried again under the same id, and told that it may be there', async () => {
    const { perform } = openOnce(memoryTable())
    await expect(perform(request, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const bounds: Bound[] = []
    const again = { ...request, subject: 'another' }
    expect(await perform(again, async (bound) => bounds.push(bound))).toBe(1)
    expect(bounds).toMatchObject([{ subject: 's', isRepeated: true }])
  })

  it('what failed keeps its key: another request is refused under it', async () => {
    const { perform } = openOnce(memoryTable())
    await expect(perform(request, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(perform({ ...request, bodySha256: 'b' }, async () => 1)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    })
  })

  it('what a crash cut off is looked for at once under the id that its key is bound to, whenever that was', async () => {
    for (const created_at of ['2026-01-01T00:00:00.000Z', '2026-01-01T12:00:00.000Z']) {
      const table = memoryTable()
      await table.claim({ project_id: 'p', key: 'k', body_sha256: 'a', subject: 'cut off', created_at })
      const once = openOnce(table, { now: () => Date.parse('2026-01-01T12:00:00.001Z') })
      expect(await once.perform(request, async (bound) => bound)).toEqual({
        subject: 'cut off',
        isRepeated: true,
        since: created_at,
      })
    }
  })

  it('where the answer cannot be kept the effect is found by the next sending, and its answer kept', async () => {
    const table = memoryTable()
    const finish = vi.spyOn(table, 'finish').mockRejectedValueOnce(new Error('no store'))
    const made = new Set<string>()
    const { perform } = openOnce(table)
    const ask = (subject: string): Promise<string> =>
      perform({ ...request, subject }, async (bound) => {
        made.add(bound.subject)
        return bound.subject
      })
    await expect(ask('first')).rejects.toThrow('no store')
    expect(await ask('second')).toBe('first')
    expect(await ask('third')).toBe('first')
    expect([made, finish.mock.calls.length]).toEqual([new Set(['first']), 2])
  })

  it('an id that the caller chose and another has binds no key; one of ours that is there keeps it', async () => {
    const taken = () => Promise.reject(new GloveboxError('ALREADY_EXISTS', 'taken'))
    const table = memoryTable()
    const { perform } = openOnce(table)
    await expect(perform({ ...request, isChosen: true }, taken)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(table.rows.size).toBe(0)
    await expect(perform(request, taken)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(table.rows.size).toBe(1)
  })

  it('a key is visible text of at most 255 characters', async () => {
    const once = openOnce(memoryTable())
    for (const key of ['', ' ', 'ä', 'a b', 'x'.repeat(256)])
      await expect(once.perform({ ...request, key }, async () => 1)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})
