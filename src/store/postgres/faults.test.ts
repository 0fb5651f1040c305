import { describe, expect, it } from 'vitest'
import { asStoreError, isUnreachable, isWorthOneRetry, spoilsConnection } from './faults.ts'

const withCode = (code: string): Error => Object.assign(new Error('said by host db.internal'), { code })

describe("PostgreSQL's faults", () => {
  it.each([
    ['57P01', 'an operator ended the connection', true, true, true],
    ['ECONNRESET', 'the network did', true, true, true],
    ['08006', 'the connection failed', true, true, true],
    ['25006', 'the server is read-only', true, true, false],
    ['40001', 'two transactions met', true, false, false],
    ['40P01', 'two transactions waited for each other', true, false, false],
    ['57014', 'the statement took too long', false, true, true],
    ['55P03', 'a lock took too long', false, true, true],
    ['53300', 'there are too many connections', false, false, false],
  ] as const)('%s (%s) is told as unavailable', (code, _what, retried, spoils, unreachable) => {
    const error = withCode(code)
    expect([isWorthOneRetry(error), spoilsConnection(error), isUnreachable(error)]).toEqual([
      retried,
      spoils,
      unreachable,
    ])
    const told = asStoreError(error) as Error & { readonly hint: string }
    expect(told).toMatchObject({ code: 'STORE_UNAVAILABLE', operatorDetail: error.message })
    expect(`${told.message} ${told.hint}`).not.toContain('db.internal')
  })

  it('a mistake of ours is neither repeated nor told as unavailable', () => {
    const error = withCode('42601')
    expect([isWorthOneRetry(error), spoilsConnection(error), isUnreachable(error)]).toEqual([false, false, false])
    expect(asStoreError(error)).toBe(error)
  })

  it('a full disk and a wrong password have names of their own', () => {
    expect(asStoreError(withCode('53100'))).toMatchObject({ code: 'NO_SPACE' })
    for (const code of ['28P01', '3D000', 'ENOTFOUND'])
      expect(asStoreError(withCode(code))).toMatchObject({ hint: expect.stringContaining('DATABASE_URL') })
  })
})
