import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDirectories } from './make-directories.ts'

describe('directories that somebody named', () => {
  let root: string
  beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'glovebox-make-'))))
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('are made with all that leads to them, once and again', () => {
    const path = join(root, 'a', 'b', 'c')
    makeDirectories(path, 0o700)
    makeDirectories(path, 0o700)
    makeDirectories(`${path}/`, 0o700)
    for (const each of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, each)).mode & 0o777).toBe(0o700)
  })

  it('may lie behind a link to a directory', () => {
    makeDirectories(join(root, 'real'))
    symlinkSync('real', join(root, 'link'))
    makeDirectories(join(root, 'link', 'below'))
    expect(statSync(join(root, 'real', 'below')).isDirectory()).toBe(true)
  })

  it.each([
    ['a file is', 'EEXIST', 'file'],
    ['a file is in the way', 'ENOTDIR', 'file/below'],
    ['a link leads nowhere', 'EEXIST', 'nowhere'],
    ['a link on the way leads nowhere', 'EEXIST', 'nowhere/below'],
  ])('cannot be made where %s', (_, code, name) => {
    writeFileSync(join(root, 'file'), '')
    symlinkSync('gone', join(root, 'nowhere'))
    expect(() => makeDirectories(join(root, name))).toThrow(expect.objectContaining({ code }))
  })

  it('cannot be made where no directory can be, and nobody waits for one', () => {
    expect(() => makeDirectories('/proc/glovebox-nowhere/below')).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })
})
