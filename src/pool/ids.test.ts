import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSandboxId } from '../contract/ids.ts'
import { idOfKey, idWithoutKey, rememberIds } from './ids.ts'

describe('the id of a key', () => {
  it('is the same in every process: the beginning of a hash over both parts', () => {
    expect(idOfKey({ user: 'u', thread: 't' })).toBe(idOfKey({ thread: 't', user: 'u' }))
    expect(idOfKey({ user: 'u', thread: 't' })).toMatch(/^sbx_[0-9a-f]{16}$/)
    // Written down, since it names what already lies on disks.
    expect(idOfKey({ user: 'alice', thread: 'thread-1' })).toBe('sbx_8ba10d2ff15cc9eb')
  })

  it('tells the parts apart, whatever they hold', () => {
    const part = fc.string({ minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(part, part, part, (one, two, three) => {
        const [left, right] = [idOfKey({ user: one + two, thread: three }), idOfKey({ user: one, thread: two + three })]
        expect(left).not.toBe(right)
        expect(isSandboxId(left)).toBe(true)
      }),
    )
  })

  it.each([
    ['', 't'],
    ['u', ''],
    ['u', 'x'.repeat(1025)],
    ['u', '\ud800'],
  ])('a part that cannot be told apart is refused (%j, %j)', (user, thread) => {
    expect(() => idOfKey({ user, thread })).toThrowError(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })

  it('is made once for a key, and a key that is refused is refused each time', () => {
    const made: string[] = []
    const idOf = rememberIds((key) => {
      made.push(key.thread)
      return idOfKey(key)
    }, 2)
    for (const thread of ['a', 'a', 'b', 'a', 'c', 'a'])
      expect(idOf({ user: 'u', thread })).toBe(idOfKey({ user: 'u', thread }))
    expect(made).toEqual(['a', 'b', 'c', 'a'])
    for (const _ of [1, 2]) expect(() => idOf({ user: 'u', thread: '' })).toThrowError('thread')
  })

  it('without a key is never that of a key', () => {
    expect(idWithoutKey()).toMatch(/^sbx_[0-9a-f]{32}$/)
    expect(idWithoutKey()).not.toBe(idWithoutKey())
  })
})
