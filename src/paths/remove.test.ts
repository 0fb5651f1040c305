import { mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('removing and renaming', () => {
  it('removes a tree without following links', async () => {
    ground().put('t/a/b/c')
    symlinkSync(ground().outside, ground().host('t/a/out'))
    const files = ground().open()
    await refused('NOT_EMPTY', files.remove(guest('/workspace/t')))
    await files.remove(guest('/workspace/t'), { recursive: true })
    expect(readdirSync(ground().inside)).toEqual([])
    expect(readdirSync(ground().outside)).toEqual(['secret.txt'])
    await refused('NOT_FOUND', files.remove(guest('/workspace/t')))
  })

  it('removes a tree deeper than descriptors would reach', async () => {
    mkdirSync(ground().host(...Array.from({ length: 400 }, () => 'd')), { recursive: true })
    for (const depth of [20, 33, 390]) ground().put(`${'d/'.repeat(depth)}file`)
    await ground().open().remove(guest('/workspace/d'), { recursive: true })
    expect(readdirSync(ground().inside)).toEqual([])
  })

  it('renames as rename(2) does', async () => {
    ground().put('a', 'A')
    ground().put('b', 'B')
    ground().put('d/x')
    ground().put('full/x')
    const files = ground().open()
    await files.rename(guest('/workspace/a'), guest('/workspace/b'))
    expect(readFileSync(ground().host('b'), 'utf8')).toBe('A')
    await files.rename(guest('/workspace/b'), guest('/workspace/b'))
    await refused('NOT_FOUND', files.rename(guest('/workspace/a'), guest('/workspace/c')))
    await refused('NOT_FOUND', files.rename(guest('/workspace/b'), guest('/workspace/no/c')))
    await refused('NOT_EMPTY', files.rename(guest('/workspace/d'), guest('/workspace/full')))
    await refused('INVALID_INPUT', files.rename(guest('/workspace/d'), guest('/workspace/d/e')))
    await refused('OUTSIDE_MOUNTS', files.rename(guest('/workspace/d'), guest('/etc/e')))
  })

  it('makes directories once', async () => {
    const files = ground().open()
    expect(await files.mkdir(guest('/workspace/a/b'))).toEqual({ created: true })
    expect(await files.mkdir(guest('/workspace/a/b'))).toEqual({ created: false })
    expect(await files.mkdir(guest('/workspace'))).toEqual({ created: false })
    expect(await files.mkdir(guest('/'))).toEqual({ created: false })
    await refused('NOT_FOUND', files.mkdir(guest('/workspace/x/y'), { parents: false }))
    ground().put('f')
    await refused('ALREADY_EXISTS', files.mkdir(guest('/workspace/f')))
    await refused('NOT_A_DIRECTORY', files.mkdir(guest('/workspace/f/g')))
  })
})
