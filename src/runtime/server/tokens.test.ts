import { describe, expect, it } from 'vitest'
import type { TokenRow, TokenTable } from '../../contract/store.ts'
import { openTokenDesk } from './tokens.ts'

function memoryTable(): TokenTable & { readonly rows: TokenRow[]; lookups: number } {
  const rows: TokenRow[] = []
  return {
    rows,
    lookups: 0,
    async insert(row) {
      rows.push(row)
    },
    async insertFirst(row) {
      const isFirst = rows.length === 0
      if (isFirst) rows.push(row)
      return isFirst
    },
    async findByHash(hash) {
      this.lookups += 1
      return rows.find((row) => row.hash === hash)
    },
    find: async (id) => rows.find((row) => row.id === id),
    list: async () => ({ rows, next: null }),
    async revoke(id, at) {
      const index = rows.findIndex((row) => row.id === id)
      const row = rows[index]
      if (row !== undefined) rows[index] = { ...row, revoked_at: at }
      return row !== undefined
    },
    count: async () => rows.length,
  }
}

const request = { name: 'n', scopes: ['exec'], project: 'p', expiresAt: null, createdBy: null } as const

describe('the desk of tokens', () => {
  it('issues the first token once, to an operator of everything', async () => {
    const desk = openTokenDesk(memoryTable())
    const issued = await desk.issueFirst()
    expect(issued?.info).toMatchObject({ name: 'first', scopes: ['admin'], project: null, expires_at: null })
    expect((await desk.find(issued?.secret ?? ''))?.id).toBe(issued?.info.id)
    expect(await desk.issueFirst()).toBeUndefined()
    expect(await desk.count()).toBe(1)
  })

  it('keeps a hash, and shows neither it nor the token', async () => {
    const table = memoryTable()
    const desk = openTokenDesk(table)
    const { secret, info } = await desk.issue(request)
    expect(JSON.stringify(table.rows)).not.toContain(secret)
    expect(JSON.stringify([info, await desk.list({}, { limit: 10 })])).not.toContain(table.rows[0]?.hash)
    expect((await desk.find(secret))?.id).toBe(info.id)
  })

  it('believes what it found for seconds, and forgets it when it revokes', async () => {
    let now = 0
    const table = memoryTable()
    const desk = openTokenDesk(table, () => now)
    const { secret, info } = await desk.issue(request)
    for (let asked = 0; asked < 10; asked++) await desk.find(secret)
    expect(table.lookups).toBe(1)
    await desk.revoke(info.id)
    expect((await desk.find(secret))?.revoked_at).not.toBeNull()
    // Another process revoked it: within the time, and not after.
    const other = await desk.issue(request)
    await desk.find(other.secret)
    await table.revoke(other.info.id, '2026-01-01T00:00:00.000Z')
    expect((await desk.find(other.secret))?.revoked_at).toBeNull()
    now = 60_000
    expect((await desk.find(other.secret))?.revoked_at).not.toBeNull()
  })

  it('remembers a token in force and no other, so each refusal is looked up', async () => {
    const table = memoryTable()
    const desk = openTokenDesk(table)
    const good = await desk.issue(request)
    const over = await desk.issue({ ...request, expiresAt: '2020-01-01T00:00:00.000Z' })
    const revoked = await desk.issue(request)
    await desk.revoke(revoked.info.id)
    for (const secret of [good.secret, over.secret, revoked.secret, 'gbx_unknown']) await desk.find(secret)
    expect(desk.remembered(good.secret)?.id).toBe(good.info.id)
    table.lookups = 0
    for (const secret of [over.secret, revoked.secret, 'gbx_unknown']) {
      expect(desk.remembered(secret)).toBeUndefined()
      await desk.find(secret)
    }
    await desk.findNone()
    expect(table.lookups).toBe(4)
  })
})
