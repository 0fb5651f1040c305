import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkEntry, dataText, maxDataBytes, type AuditData } from './entry.ts'

const entry = { actor: 'operator', action: 'exec.start', subject: 'exec_1' }
const refused = expect.objectContaining({ code: 'INVALID_INPUT' }) as Error

describe('an audit entry', () => {
  it('a name or a value that means a secret is refused', () => {
    const names = [
      'password',
      'dbPasswd',
      'client_secret',
      'Authorization',
      'Set-Cookie',
      'apiKey',
      'token',
      'access_token',
    ]
    for (const name of names) expect(() => dataText({ deep: [{ [name]: 'x' }] })).toThrow(refused)
    const values = ['Bearer abcdefghij', 'basic dXNlcjpwYXNz', 'x\n-----BEGIN OPENSSH PRIVATE KEY-----']
    for (const value of values) {
      expect(() => dataText({ note: [value] })).toThrow(refused)
      expect(() => checkEntry({ ...entry, subject: value })).toThrow(refused)
    }
    // The control: names that only sound alike.
    expect(dataText({ tokenId: 'tok_1', keys: 2, secrets_count: 3 })).toBe(
      '{"keys":2,"secrets_count":3,"tokenId":"tok_1"}',
    )
  })

  it('is refused when it is large, deep or no JSON', () => {
    expect(() => dataText({ text: 'x'.repeat(maxDataBytes) })).toThrow(refused)
    expect(() => dataText(JSON.parse('{"a":'.repeat(9) + '1' + '}'.repeat(9)) as AuditData)).toThrow(refused)
    expect(() => dataText({ n: Number.NaN })).toThrow(refused)
    expect(() => dataText({ d: new Date() as unknown as string })).toThrow(refused)
    expect(() => dataText({ u: undefined as unknown as string })).toThrow(refused)
  })

  it('is refused without an actor, an action or a subject', () => {
    for (const change of [
      { actor: '' },
      { action: 'Exec Start' },
      { action: '' },
      { subject: '' },
      { subject: 'x'.repeat(513) },
    ])
      expect(() => checkEntry({ ...entry, ...change })).toThrow(refused)
  })

  it('gives the same bytes for the same data, whatever the order of its names', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 }), (data) => {
        const turned = Object.fromEntries(Object.entries(data).toReversed())
        const text = attempt(data as AuditData)
        expect(attempt(turned as AuditData)).toBe(text)
        if (text !== undefined) expect(JSON.stringify(JSON.parse(text))).toBe(text)
      }),
    )
  })
})

const attempt = (data: AuditData): string | undefined => {
  try {
    return dataText(data)
  } catch {
    return undefined
  }
}
