import { describe, expect, it } from 'vitest'
import { inDoubt } from '../../errors/doubt.ts'
import { unavailable } from '../fault.ts'
import { asStoreError, isUnreachable, isWorthOneRetry, NotConnected, spoilsConnection } from './faults.ts'

const withCode = (code: string): Error => Object.assign(new Error('said by host db.internal'), { code })

describe("PostgreSQL's faults", () => {
  it.each([
    ['57P01', 'an operator ended the connection', true, true, true],
    ['57P04', 'the database was dropped', true, true, true],
    ['57P05', 'the connection rested too long', true, true, true],
    ['ECONNRESET', 'the network did', true, true, true],
    ['08006', 'the connection failed', true, true, true],
    ['25006', 'the server is read-only', true, true, false],
    ['40001', 'two transactions met', true, false, false],
    ['40P01', 'two transactions waited for each other', true, false, false],
    ['57014', 'the statement took too long', false, true, true],
    ['55P03', 'a lock took too long', false, true, true],
    ['25P04', 'the transaction took too long', false, true, true],
    ['53300', 'there are too many connections', false, false, false],
    ['53200', 'there is too little memory', false, false, false],
    ['58030', 'a file could not be read', false, false, false],
    ['XX001', 'a page is damaged', false, false, false],
    ['EMFILE', 'this process has too many descriptors', false, false, false],
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

  it.each(['ECONNREFUSED', 'ENOENT', 'EAI_AGAIN', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH'])(
    '%s, where nobody is heard, is not told as a connection that was lost',
    (code) => {
      const error = withCode(code)
      expect([isWorthOneRetry(error), isUnreachable(error)]).toEqual([true, true])
      expect(asStoreError(error)).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/: it cannot be reached$/) as string,
        hint: expect.stringContaining('DATABASE_URL') as string,
      })
    },
  )

  it('a mistake of ours is neither repeated nor told as unavailable', () => {
    const error = withCode('42601')
    expect([isWorthOneRetry(error), spoilsConnection(error), isUnreachable(error)]).toEqual([false, false, false])
    expect(asStoreError(error)).toBe(error)
  })

  it.each(['28P01', '3D000', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_INVALID_URL', ''])(
    'a connection that does not come about (%s) is a matter of the URL, and is not tried again',
    (code) => {
      const error = new NotConnected(withCode(code))
      expect([isWorthOneRetry(error), isUnreachable(error)]).toEqual([false, false])
      expect(asStoreError(error)).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/with this URL$/) as string,
        hint: expect.stringContaining('DATABASE_URL') as string,
        operatorDetail: 'said by host db.internal',
      })
    },
  )

  it('a connection that does not come about is otherwise told by the code of its cause', () => {
    const error = new NotConnected(withCode('EAI_AGAIN'))
    expect([isWorthOneRetry(error), isUnreachable(error)]).toEqual([true, true])
    expect(asStoreError(error)).toMatchObject({ message: expect.stringMatching(/: it cannot be reached$/) as string })
    expect(asStoreError(new NotConnected(withCode('53300')))).toMatchObject({
      message: expect.stringContaining('too many connections') as string,
    })
  })

  it('a commit of which the server does not say what became of it counts as no answer', () => {
    expect(isUnreachable(unavailable('nobody can tell', { hint: 'Look.', facts: inDoubt }))).toBe(true)
    expect(isUnreachable(unavailable('it was closed', { hint: 'Stop.' }))).toBe(false)
  })

  it('a full disk has a name of its own', () => {
    expect(asStoreError(withCode('53100'))).toMatchObject({ code: 'NO_SPACE' })
  })
})
