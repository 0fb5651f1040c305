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

async function outcomeOf(change: Partial<TokenRow>): Promise<string> {
  const authenticate = createAuthenticator({ find: async () => ({ ...row, ...change }) }, () => now)
  return authenticate('Bearer gbx_known').then(
    () => 'good',
    (error: unknown) => (isGloveboxError(error) ? error.code : 'a fault'),
  )
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
