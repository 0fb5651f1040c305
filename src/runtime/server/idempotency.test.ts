import { describe, expect, it } from 'vitest'
import type { IdempotencyRow, IdempotencyTable } from '../../contract/idempotency.ts'
import { openOnce } from './idempotency.ts'

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
      rows.delete(nameOf(at))
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

  it('what came to nothing may be tried again', async () => {
    const once = openOnce(memoryTable())
    await expect(once.perform(request, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await once.perform(request, async () => 1)).toBe(1)
  })

  it('what a crash cut off is not done again before it can be over', async () => {
    let now = Date.parse('2026-01-01T00:00:00.000Z')
    const table = memoryTable()
    await table.claim({
      project_id: 'p',
      key: 'k',
      body_sha256: 'a',
      subject: 's',
      created_at: new Date(now).toISOString(),
    })
    const once = openOnce(table, () => now)
    await expect(once.perform(request, async () => 1)).rejects.toMatchObject({ code: 'BUSY' })
    now += 11 * 60_000
    expect(await once.perform(request, async () => 1)).toBe(1)
  })

  it('a key is visible text of at most 255 characters', async () => {
    const once = openOnce(memoryTable())
    for (const key of ['', ' ', 'ä', 'a b', 'x'.repeat(256)])
      await expect(once.perform({ ...request, key }, async () => 1)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})
