import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { answerPage, createCursors } from './cursor.ts'
import type { Principal } from './principal.ts'

const principal = (project: string | null): Principal => ({
  tokenId: 'tok_1',
  scopes: new Set(['read']),
  project,
  actor: 'token:tok_1',
  expiresAt: null,
  stillGood: async () => true,
})
const key = { created_at: '2026-01-01T00:00:00.000Z', id: 'x' }

describe('cursors', () => {
  const cursors = createCursors(new Uint8Array(32))

  it('come back as they went, for the same list and project', () => {
    const text = cursors.sign(key, 'runs', principal('a'))
    expect(cursors.read(text, 'runs', principal('a'))).toEqual(key)
  })

  it('are refused for another list, project or server, and when a letter was changed', () => {
    const text = cursors.sign(key, 'runs', principal('a'))
    const tries = [
      () => cursors.read(text, 'execs', principal('a')),
      () => cursors.read(text, 'runs', principal('b')),
      () => cursors.read(text, 'runs', principal(null)),
      () => createCursors(new Uint8Array(32).fill(1)).read(text, 'runs', principal('a')),
      ...Array.from(text, (_, at) => () => {
        const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'E' : 'A'}${text.slice(at + 1)}`
        return cursors.read(changed, 'runs', principal('a'))
      }),
    ]
    for (const attempt of tries) expect(attempt).toThrow('not one of this list')
  })

  it.each([
    'no JSON',
    '{}',
    '["2026-01-01T00:00:00.000Z"]',
    '["2026-01-01T00:00:00.000Z","x","y"]',
    '[1,2]',
    '[{"$gt":""},null]',
    '["2026","a\\u0000b"]',
    '["2026","\\ud800"]',
    '["2026",""]',
  ])('are refused when they say %s, though their signature is good', (said) => {
    const signed = (text: string): string => {
      const payload = Buffer.from(text).toString('base64url')
      const told = JSON.stringify(['runs', 'a', payload])
      const signature = createHmac('sha256', new Uint8Array(32)).update(told).digest().subarray(0, 16)
      return `${payload}.${signature.toString('base64url')}`
    }
    const good = signed(JSON.stringify([key.created_at, key.id]))
    expect(cursors.read(good, 'runs', principal('a')), 'control').toEqual(key)
    const asked = (): unknown => cursors.read(signed(said), 'runs', principal('a'))
    expect(asked).toThrow(expect.objectContaining({ code: 'INVALID_CURSOR' }))
  })

  it('a page has at most the server’s rows', async () => {
    const asked = { list: 'l', principal: principal(null), query: { limit: 1e9 } }
    const page = await answerPage(
      { cursors, pageRows: 100 },
      asked,
      ({ limit }) => ({ rows: [limit], next: key }),
      (row) => row,
    )
    expect(page.items).toEqual([100])
    expect(cursors.read(page.next_cursor ?? '', 'l', principal(null))).toEqual(key)
  })
})
