import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isGloveboxError } from '../errors/error.ts'
import { mountModes, parseMountText } from './mount-text.ts'

const hintOf = (text: string): string | undefined => {
  try {
    parseMountText(text, '/project')
  } catch (error) {
    if (isGloveboxError(error)) return `${error.message} ${error.hint}`
    throw error
  }
  throw new Error(`accepted: ${text}`)
}

describe('parseMountText', () => {
  it('resolves a relative host path against the directory it was written in', () => {
    expect(parseMountText('/data=./data:ro', '/project')).toEqual({
      guestPath: '/data',
      hostPath: '/project/data',
      mode: 'ro',
    })
    expect(parseMountText('/data=/srv/data', '/project')).toEqual({ guestPath: '/data', hostPath: '/srv/data' })
  })

  it('what follows the last colon is a mode or an error, so that a misspelt `:ro` is never taken for part of a name', () => {
    expect(hintOf('/data=/srv/data:r0')).toContain('Did you mean "ro"?')
    expect(hintOf('/data=/srv/data:readonly')).toContain('"readonly" is not a mode')
    expect(hintOf('/data=/srv/data:')).toContain('"" is not a mode')
  })

  it('accepts colons and equals signs in host names when the mode is written out', () => {
    expect(parseMountText('/d=/srv/a:b=c:rw', '/')).toEqual({ guestPath: '/d', hostPath: '/srv/a:b=c', mode: 'rw' })
    expect(parseMountText('/d=/a:b/c', '/')).toEqual({ guestPath: '/d', hostPath: '/a:b/c' })
  })

  it('refuses what is not a mount and says how to write one', () => {
    expect(hintOf('/data')).toContain('GUEST=HOST')
    expect(hintOf('data=/srv')).toContain('must begin with "/"')
    expect(hintOf('/data=')).toContain('empty')
    expect(hintOf('/data=:ro')).toContain('empty')
    expect(hintOf('/data=~/x')).toContain('$HOME')
    expect(hintOf('/data=/x\0y')).toContain('NUL')
  })

  it('reads back every pair of paths that it was given', () => {
    const name = fc.stringMatching(/^[a-z0-9 :=.~-]{1,12}$/).filter((text) => text !== '.' && text !== '..')
    fc.assert(
      fc.property(name, fc.constantFrom(...mountModes), (hostName, mode) => {
        const parsed = parseMountText(`/guest=/srv/${hostName}:${mode}`, '/')
        expect(parsed).toEqual({ guestPath: '/guest', hostPath: `/srv/${hostName}`, mode })
      }),
    )
  })
})
