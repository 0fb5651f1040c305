import { describe, expect, it } from 'vitest'
import { collectSecret, namesOf, parseSecretText } from './secret-text.ts'

describe('--secret', () => {
  it.each([
    ['keys/token', 'keys/token'],
    ['keys/token=API_TOKEN', { name: 'keys/token', env: 'API_TOKEN' }],
    ['keys/token:file', { name: 'keys/token', file: 'token' }],
    ['keys/token:file=netrc', { name: 'keys/token', file: 'netrc' }],
  ])('reads %s', (text, use) => {
    expect(parseSecretText(text)).toEqual(use)
  })

  it.each(['token', 'keys/', '/token', 'keys/token=', 'keys/token:fil', 'keys/token:file=', 'a/b/c', ''])(
    'refuses "%s" with what to write',
    (text) => {
      expect(() => parseSecretText(text)).toThrow(
        expect.objectContaining({ code: 'INVALID_INPUT', hint: expect.stringContaining('--secret keys/token=') }),
      )
    },
  )

  it('may be repeated, and grants each name once', () => {
    const uses = collectSecret('keys/token:file', collectSecret('keys/token=A'))
    expect(uses).toHaveLength(2)
    expect(namesOf(uses)).toEqual(['keys/token'])
  })
})
