import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('listing and looking', () => {
  it('sorts, bounds, and shows links with their targets', async () => {
    ground().put('b')
    ground().put('a')
    ground().put('c/x')
    symlinkSync('/nowhere', ground().host('d'))
    const files = ground().open()
    const all = await files.list(guest('/workspace'), { limit: 4 })
    expect(all.truncated).toBe(false)
    expect(all.entries.map(({ name, kind }) => [name, kind])).toEqual([
      ['a', 'file'],
      ['b', 'file'],
      ['c', 'directory'],
      ['d', 'symlink'],
    ])
    expect(all.entries[3]?.target).toBe('/nowhere')
    const some = await files.list(guest('/workspace'), { limit: 2 })
    expect(some).toMatchObject({ truncated: true, entries: [{ name: 'a' }, { name: 'b' }] })
    await refused('INVALID_INPUT', files.list(guest('/workspace'), { limit: 0 }))
    await refused('NOT_A_DIRECTORY', files.list(guest('/workspace/a'), { limit: 1 }))
    await refused('NOT_FOUND', files.list(guest('/workspace/none'), { limit: 1 }))
  })

  it('shows the first names of a large directory in order', async () => {
    for (let i = 0; i < 700; i++) writeFileSync(ground().host(`f${String((i * 7919) % 700).padStart(4, '0')}`), '')
    const { entries, truncated } = await ground().open().list(guest('/workspace'), { limit: 5 })
    expect(entries.map(({ name }) => name)).toEqual(['f0000', 'f0001', 'f0002', 'f0003', 'f0004'])
    expect(truncated).toBe(true)
  })

  it('shows a name that is not UTF-8, and removes it with its directory', async () => {
    mkdirSync(ground().host('d'))
    writeFileSync(Buffer.concat([Buffer.from(ground().host('d/')), Buffer.from([0xff, 0x61])]), 'abc')
    const files = ground().open()
    const { entries } = await files.list(guest('/workspace/d'), { limit: 5 })
    expect(entries).toEqual([{ name: '\ufffda', kind: 'file', sizeBytes: 3 }])
    await files.remove(guest('/workspace/d'), { recursive: true })
    expect(existsSync(ground().host('d'))).toBe(false)
  })

  it('shows a symlink as a symlink', async () => {
    symlinkSync('/etc/passwd', ground().host('link'))
    expect(await ground().open().stat(guest('/workspace/link'))).toMatchObject({
      kind: 'symlink',
      target: '/etc/passwd',
    })
  })

  it('answers for directories that only lead to mounts', async () => {
    const files = ground().open({ mounts: [ground().mount('/mnt/user/data'), ground().mount('/workspace/a/b')] })
    expect(await files.stat(guest('/'))).toMatchObject({ path: '/', kind: 'directory' })
    expect(await files.stat(guest('/mnt'))).toMatchObject({ kind: 'directory' })
    expect(await files.stat(guest('/workspace/a'))).toMatchObject({ kind: 'directory' })
    const names = async (path: string) => (await files.list(guest(path), { limit: 9 })).entries.map(({ name }) => name)
    expect(await names('/')).toEqual(['mnt', 'workspace'])
    expect(await names('/mnt')).toEqual(['user'])
    expect(await names('/workspace/a')).toEqual(['b'])
    await refused('OUTSIDE_MOUNTS', files.stat(guest('/mntx')))
  })
})
