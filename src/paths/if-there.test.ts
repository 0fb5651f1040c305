import { closeSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { namesIfThere, openIfThere, readIfThere } from './if-there.ts'

describe('a file that may not be there', () => {
  let place: string
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'glovebox-if-there-'))
    writeFileSync(join(place, 'file'), 'text')
  })
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  it('has names if it is a directory, none if it is not there, and is no directory that is empty if it is a file', () => {
    expect(namesIfThere(place)).toEqual(['file'])
    expect(namesIfThere(join(place, 'missing'))).toEqual([])
    expect(() => namesIfThere(join(place, 'file'))).toThrow('ENOTDIR')
  })

  it('is read, or opened, if it is', () => {
    expect(readIfThere(join(place, 'file'))).toBe('text')
    const descriptor = openIfThere(join(place, 'file'), 'r')
    expect(descriptor).toBeGreaterThan(2)
    closeSync(descriptor ?? -1)
  })

  it('is undefined if it is not: by its name, below a file, or behind a link that leads nowhere', () => {
    symlinkSync(join(place, 'gone'), join(place, 'link'))
    for (const name of ['none', 'file/below', 'link'])
      expect([readIfThere(join(place, name)), openIfThere(join(place, name), 'r')], name).toEqual([
        undefined,
        undefined,
      ])
  })

  it('is no absence where something else keeps it from being read', () => {
    mkdirSync(join(place, 'directory'))
    expect(() => readIfThere(join(place, 'directory'))).toThrow('EISDIR')
    symlinkSync('loop', join(place, 'loop'))
    expect(() => readIfThere(join(place, 'loop'))).toThrow('ELOOP')
    expect(() => openIfThere(join(place, 'loop'), 'r')).toThrow('ELOOP')
  })
})
