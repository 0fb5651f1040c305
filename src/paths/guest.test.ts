import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GuestPath } from '../contract/mount.ts'
import { isGloveboxError } from '../errors/error.ts'
import { guestJoin, isWithin, parseGuestPath, segmentsOf } from './guest.ts'

const cwd = parseGuestPath('/workspace')
const codeOf = (work: () => unknown): string | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return isGloveboxError(error) ? error.code : 'not ours'
  }
}
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('..', '.', '', 'a', 'b c', '-x', '.git', '\\', 'é'), { maxLength: 12 })
    .map((names) => names.join('/')),
)

describe('parseGuestPath', () => {
  it.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['//a///b/', '/a/b'],
    ['/a/./b/../c', '/a/c'],
    ['/../../etc/passwd', '/etc/passwd'],
    ['file', '/workspace/file'],
    ['.', '/workspace'],
    ['../x', '/x'],
    ['../../../x', '/x'],
    ['a\\b', '/workspace/a\\b'],
  ])('reads %s as %s', (text, path) => {
    expect(parseGuestPath(text, cwd)).toBe(path)
  })

  it.each([
    ['an empty path', ''],
    ['a NUL', '/a\0b'],
    ['a path of 5,000 characters', `/${'a/'.repeat(2500)}`],
    ['a name of 256 bytes', `/${'a'.repeat(256)}`],
    ['a lone surrogate', '/a\ud800'],
  ])('refuses %s', (_, text) => {
    expect(codeOf(() => parseGuestPath(text, cwd))).toBe('INVALID_PATH')
  })

  it('refuses a relative path where there is nothing to join it to', () => {
    expect(codeOf(() => parseGuestPath('a'))).toBe('INVALID_PATH')
  })

  it('refuses a join that becomes too long', () => {
    const deep = parseGuestPath(`/${Array.from({ length: 20 }, () => 'd'.repeat(200)).join('/')}`)
    expect(codeOf(() => parseGuestPath('x'.repeat(200), deep))).toBe('INVALID_PATH')
  })

  it('is idempotent, absolute and normal for every text that it accepts', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let path: GuestPath
        try {
          path = parseGuestPath(text, cwd)
        } catch (error) {
          expect(isGloveboxError(error)).toBe(true)
          return
        }
        expect(parseGuestPath(path)).toBe(path)
        expect(path.startsWith('/')).toBe(true)
        for (const name of segmentsOf(path)) expect(['', '.', '..']).not.toContain(name)
      }),
    )
  })
})

describe('isWithin', () => {
  it('compares whole names', () => {
    const skills = parseGuestPath('/mnt/skills')
    expect(isWithin(parseGuestPath('/mnt/skills'), skills)).toBe(true)
    expect(isWithin(parseGuestPath('/mnt/skills/a'), skills)).toBe(true)
    expect(isWithin(parseGuestPath('/mnt/skills-extra'), skills)).toBe(false)
    expect(isWithin(parseGuestPath('/mnt'), skills)).toBe(false)
    expect(isWithin(parseGuestPath('/anything'), parseGuestPath('/'))).toBe(true)
  })
})

describe('guestJoin', () => {
  it('joins below the root, also what looks absolute', () => {
    expect(guestJoin(cwd, 'a', 'b')).toBe('/workspace/a/b')
    expect(guestJoin(cwd, '/etc')).toBe('/workspace/etc')
    expect(guestJoin(cwd)).toBe('/workspace')
    expect(guestJoin(parseGuestPath('/'), 'a')).toBe('/a')
  })
})
