import { describe, expect, it } from 'vitest'
import type { TokenRow } from '../../contract/store.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { createAuthenticator } from './auth.ts'

const now = Date.parse('2030-01-01T00:00:00.000Z')
const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString()

const row: TokenRow = {
  id: `tok_${'0'.repeat(32)}`,
  hash: '',
  name: 'of a test',
  scopes: ['read'],
  project: null,
  not_before: null,
  expires_at: null,
  revoked_at: null,
  created_at: at(-1000),
  created_by: null,
}

async function outcomeOf(
  change: Partial<TokenRow>,
  header: string | undefined = 'Bearer gbx_known',
  count: () => void = () => {},
): Promise<string> {
  const found = { ...row, ...change }
  const desk = {
    remembered: () => undefined,
    find: async () => {
      count()
      return header === 'Bearer gbx_unknown' ? undefined : found
    },
    findNone: async () => count(),
  }
  const authenticate = createAuthenticator(desk, () => now)
  try {
    await authenticate(header)
    return 'good'
  } catch (error) {
    return isGloveboxError(error) ? error.code : 'a fault'
  }
}

describe('a token that is known', () => {
  it.each([
    ['without a time', {}, 'good'],
    ['that ends in a second', { expires_at: at(1) }, 'good'],
    ['that ends now', { expires_at: at(0) }, 'TOKEN_EXPIRED'],
    ['that ended within the skew of clocks', { expires_at: at(-1) }, 'TOKEN_EXPIRED'],
    ['whose end cannot be read', { expires_at: 'soon' }, 'TOKEN_EXPIRED'],
    ['whose end is a number', { expires_at: '1e308' }, 'TOKEN_EXPIRED'],
    ['that begins within the skew of clocks', { not_before: at(59) }, 'good'],
    ['that begins later', { not_before: at(61) }, 'UNAUTHENTICATED'],
    ['whose beginning cannot be read', { not_before: 'soon' }, 'UNAUTHENTICATED'],
    ['that was revoked', { revoked_at: at(-1) }, 'UNAUTHENTICATED'],
    // Only of one that is good in all else is it told that its time is over.
    ['that was revoked and is over', { revoked_at: at(-1), expires_at: at(-2) }, 'UNAUTHENTICATED'],
  ])('%s is judged so', async (_, change, outcome) => {
    expect(await outcomeOf(change)).toBe(outcome)
  })
})

describe('a token that is refused', () => {
  it.each([
    ['none', undefined, {}],
    ['an empty one', 'Bearer ', {}],
    ['of another scheme', 'Basic gbx_known', {}],
    ['with strange bytes', 'Bearer gbx_\u00e9', {}],
    ['a very long one', `Bearer ${'a'.repeat(10_000)}`, {}],
    ['an unknown one', 'Bearer gbx_unknown', {}],
    ['one that was revoked', 'Bearer gbx_known', { revoked_at: at(-1) }],
    ['one that is over', 'Bearer gbx_known', { expires_at: at(-1) }],
    ['one that begins later', 'Bearer gbx_known', { not_before: at(61) }],
  ])('every refusal takes one look-up: %s', async (_, header, change) => {
    let lookups = 0
    expect(await outcomeOf(change, header ?? '', () => (lookups += 1))).toMatch(/^(?:UNAUTHENTICATED|TOKEN_EXPIRED)$/)
    expect(lookups).toBe(1)
  })

  it('a database that fails is not told to whoever showed no token', async () => {
    const broken = async (): Promise<never> => {
      throw new Error('no database')
    }
    const authenticate = createAuthenticator({ remembered: () => undefined, find: broken, findNone: broken })
    await expect(authenticate(undefined)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(authenticate('Bearer gbx_some')).rejects.toThrow('no database')
  })

  it('one that is remembered needs no look-up, unless its time has come', async () => {
    const find = async (): Promise<TokenRow> => ({ ...row, expires_at: at(0) })
    const desk = { remembered: () => ({ ...row, expires_at: at(1) }), find, findNone: async () => {} }
    expect(createAuthenticator(desk, () => now)('Bearer gbx_known')).toMatchObject({ tokenId: row.id })
    const later = createAuthenticator(desk, () => now + 1000)('Bearer gbx_known')
    await expect(later).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })
})
