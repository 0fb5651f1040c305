import { existsSync, lstatSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused, textOf } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('links', () => {
  const limit = { maxBytes: 100 }

  it('are followed where they stay inside the mounts, absolute and relative', async () => {
    ground().put('d/a', 'A')
    const ro = ground().mount('/runtime', 'ro')
    writeFileSync(join(ro.hostPath, 'r'), 'R')
    symlinkSync('/workspace/d', ground().host('abs'))
    symlinkSync('../d/./a', ground().host('d/self'))
    symlinkSync('/runtime/r', ground().host('over'))
    symlinkSync('abs/../d/a', ground().host('dots'))
    const files = ground().open({ mounts: [ro] })
    expect(await textOf(files, '/workspace/abs/a')).toBe('A')
    expect(await textOf(files, '/workspace/d/self')).toBe('A')
    expect(await textOf(files, '/workspace/over')).toBe('R')
    expect(await textOf(files, '/workspace/dots')).toBe('A')
    await refused('LINK_REFUSED', files.write(guest('/workspace/over'), bytes('x')))
    await files.write(guest('/workspace/abs/new/b'), bytes('B'))
    expect(readFileSync(ground().host('d/new/b'), 'utf8')).toBe('B')
    await files.write(guest('/workspace/d/self'), bytes('A2'))
    expect(lstatSync(ground().host('d/self')).isSymbolicLink()).toBe(true)
    expect(readFileSync(ground().host('d/a'), 'utf8')).toBe('A2')
  })

  it('count `..` from the real directory, as the kernel does', async () => {
    ground().put('deep/er/dir/x')
    ground().put('deep/er/y', 'right')
    ground().put('y', 'wrong')
    symlinkSync('deep/er/dir', ground().host('l'))
    symlinkSync('l/../y', ground().host('m'))
    expect(await textOf(ground().open(), '/workspace/m')).toBe('right')
  })

  it.each([
    ['an absolute host path', (outside: string) => `${outside}/secret.txt`],
    ['a climb', () => '../outside/secret.txt'],
    ['a long climb', (outside: string) => `${'../'.repeat(30)}${outside.slice(1)}/secret.txt`],
    ['/proc/self/root', (outside: string) => `/proc/self/root${outside}/secret.txt`],
    ['/proc/self/fd', () => '/proc/self/fd/3'],
  ])('are refused where they lead outside: %s', async (_, target) => {
    symlinkSync(target(ground().outside), ground().host('link'))
    symlinkSync(join(target(ground().outside), '..'), ground().host('dir'))
    const files = ground().open()
    await refused('LINK_REFUSED', files.read(guest('/workspace/link'), limit))
    await refused('LINK_REFUSED', files.read(guest('/workspace/dir/secret.txt'), limit))
    await refused('LINK_REFUSED', files.write(guest('/workspace/link'), bytes('x')))
    await refused('LINK_REFUSED', files.write(guest('/workspace/dir/a/b/new'), bytes('x')))
    await refused('LINK_REFUSED', files.append(guest('/workspace/link'), bytes('x')))
    await refused('LINK_REFUSED', files.mkdir(guest('/workspace/dir/new')))
    await refused('LINK_REFUSED', files.list(guest('/workspace/dir'), { limit: 9 }))
    await refused('LINK_REFUSED', files.remove(guest('/workspace/dir/secret.txt')))
    await refused('LINK_REFUSED', files.rename(guest('/workspace/dir/secret.txt'), guest('/workspace/mine')))
    expect(readdirSync(ground().outside)).toEqual(['secret.txt'])
  })

  it('that dangle are not written through, and nothing is read', async () => {
    symlinkSync('/workspace/none', ground().host('leaf'))
    symlinkSync('/workspace/nodir', ground().host('dir'))
    const files = ground().open()
    await refused('NOT_FOUND', files.read(guest('/workspace/leaf'), limit))
    await refused('LINK_REFUSED', files.write(guest('/workspace/leaf'), bytes('x')))
    await refused('LINK_REFUSED', files.write(guest('/workspace/dir/x'), bytes('x')))
    await refused('LINK_REFUSED', files.mkdir(guest('/workspace/leaf')))
    expect(readdirSync(ground().inside)).toEqual(['dir', 'leaf'])
  })

  it('in a circle are refused', async () => {
    symlinkSync('b', ground().host('a'))
    symlinkSync('a', ground().host('b'))
    await refused('LINK_REFUSED', ground().open().read(guest('/workspace/a'), limit))
    await refused('LINK_REFUSED', ground().open().read(guest('/workspace/a/x'), limit))
  })

  it('are removed and renamed themselves', async () => {
    ground().put('d/a')
    symlinkSync('d', ground().host('l'))
    const files = ground().open()
    await files.rename(guest('/workspace/l'), guest('/workspace/m'))
    await files.remove(guest('/workspace/m'), { recursive: true })
    expect(readdirSync(ground().inside)).toEqual(['d'])
    expect(existsSync(ground().host('d/a'))).toBe(true)
  })
})
