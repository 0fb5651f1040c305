import { describe, expect, it } from 'vitest'
import { addressOf, tokenOf } from './address.ts'

describe('addresses', () => {
  it('an address is an origin and perhaps a path', () => {
    expect(addressOf('http://127.0.0.1:4177/')).toBe('http://127.0.0.1:4177')
    expect(addressOf(new URL('https://example.org/box//'))).toBe('https://example.org/box')
    expect(addressOf('http://[::1]:80')).toBe('http://[::1]')
  })

  it.each(['', 'localhost:4177', '127.0.0.1', '/run/glovebox.sock', 'ftp://example.org', 'javascript:alert(1)'])(
    'what is no address of http is refused: %s',
    (text) => expect(() => addressOf(text)).toThrow('Cannot use the server'),
  )

  it('an address with a user, a query or a fragment is refused', () => {
    for (const text of [
      'http://me:pw@example.org',
      'http://me@example.org',
      'http://example.org/?token=a',
      'http://example.org/#a',
    ])
      expect(() => addressOf(text), text).toThrow('has a user, a query or a fragment')
  })

  it.each(['', 'a b', 'a\nb', 'a\0', 'gbx_\u00e9'])('what no header can carry is no token: %j', (text) => {
    expect(() => tokenOf(text)).toThrow('the token is empty')
    expect(() => tokenOf(text)).not.toThrow(/a b|gbx/)
  })
})
