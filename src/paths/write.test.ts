import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, linkSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe.skipIf(!onLinux)('writing', () => {
  it('makes parents, and says whether the file is new', async () => {
    const files = ground().open()
    expect(await files.write(guest('/workspace/a/b/c.txt'), bytes('1'))).toEqual({ created: true })
    expect(await files.write(guest('/workspace/a/b/c.txt'), bytes('2'))).toEqual({ created: false })
    expect(readFileSync(ground().host('a/b/c.txt'), 'utf8')).toBe('2')
    expect(statSync(ground().host('a/b/c.txt')).mode & 0o7777).toBe(0o644)
    expect(statSync(ground().host('a')).mode & 0o7777).toBe(0o755)
    expect(readdirSync(ground().host('a/b'))).toEqual(['c.txt'])
  })

  it('makes no parents when told not to', async () => {
    await refused('NOT_FOUND', ground().open().write(guest('/workspace/a/b'), bytes('1'), { parents: false }))
    expect(existsSync(ground().host('a'))).toBe(false)
  })

  it('keeps the permission bits of the replaced file, but never setuid', async () => {
    ground().put('run.sh')
    chmodSync(ground().host('run.sh'), 0o4751)
    await ground().open().write(guest('/workspace/run.sh'), bytes('new'))
    expect(statSync(ground().host('run.sh')).mode & 0o7777).toBe(0o751)
  })

  it('refuses a file without write permission', async () => {
    ground().put('locked')
    chmodSync(ground().host('locked'), 0o444)
    const files = ground().open()
    await refused('READ_ONLY', files.write(guest('/workspace/locked'), bytes('x')))
    await refused('READ_ONLY', files.append(guest('/workspace/locked'), bytes('x')))
  })

  it('replaces a hard link instead of writing through it', async () => {
    const outside = join(ground().outside, 'secret.txt')
    const original = readFileSync(outside, 'utf8')
    linkSync(outside, ground().host('hard'))
    linkSync(outside, ground().host('hard2'))
    const files = ground().open()
    await files.write(guest('/workspace/hard'), bytes('mine'))
    await files.append(guest('/workspace/hard2'), bytes('+'))
    expect(readFileSync(outside, 'utf8')).toBe(original)
    expect(readFileSync(ground().host('hard'), 'utf8')).toBe('mine')
    expect(readFileSync(ground().host('hard2'), 'utf8')).toBe(`${original}+`)
  })

  it('refuses a lost update', async () => {
    const files = ground().open()
    const path = guest('/workspace/a')
    await files.write(path, bytes('1'), { expectedSha256: null })
    await refused('CONFLICT', files.write(path, bytes('2'), { expectedSha256: null }))
    await refused('CONFLICT', files.write(path, bytes('2'), { expectedSha256: sha256('0') }))
    await refused('INVALID_INPUT', files.write(path, bytes('2'), { expectedSha256: 'abc' }))
    await files.write(path, bytes('2'), { expectedSha256: sha256('1').toUpperCase() })
    expect(readFileSync(ground().host('a'), 'utf8')).toBe('2')
    await refused('CONFLICT', files.write(guest('/workspace/x/y'), bytes('2'), { expectedSha256: sha256('1') }))
    expect(existsSync(ground().host('x'))).toBe(false)
  })

  it('appends in place, and to a new file', async () => {
    const files = ground().open()
    await files.append(guest('/workspace/log/a'), bytes('1'))
    const { ino } = statSync(ground().host('log/a'))
    await files.append(guest('/workspace/log/a'), bytes('2'))
    expect(readFileSync(ground().host('log/a'), 'utf8')).toBe('12')
    expect(statSync(ground().host('log/a')).ino).toBe(ino)
  })

  it('changes a file under one lock: no update is lost', async () => {
    ground().put('count', '0')
    const [a, b] = [ground().open(), ground().open()]
    const bump = (old: Uint8Array): Uint8Array => bytes(String(Number(Buffer.from(old).toString()) + 1))
    const path = guest('/workspace/count')
    await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? a : b).update(path, { maxBytes: 10 }, bump)))
    expect(readFileSync(ground().host('count'), 'utf8')).toBe('40')
    expect(readdirSync(ground().lockDir).filter((name) => name.endsWith('.lock'))).toEqual([])
  })

  it('changes nothing when the change throws', async () => {
    ground().put('a', 'old')
    const fault = new TypeError('mine')
    const work = ground()
      .open()
      .update(guest('/workspace/a'), { maxBytes: 10 }, () => {
        throw fault
      })
    await expect(work).rejects.toBe(fault)
    expect(readFileSync(ground().host('a'), 'utf8')).toBe('old')
    expect(readdirSync(ground().inside)).toEqual(['a'])
  })

  it('leaves a directory and a mount alone', async () => {
    ground().put('d/a')
    const files = ground().open({ mounts: [ground().mount('/workspace/x/y')] })
    await refused('IS_A_DIRECTORY', files.write(guest('/workspace/d'), bytes('')))
    await refused('IS_A_DIRECTORY', files.write(guest('/workspace'), bytes('')))
    await refused('IS_A_DIRECTORY', files.write(guest('/workspace/x'), bytes('')))
    await refused('IS_A_DIRECTORY', files.write(guest('/'), bytes('')))
  })

  it.skipIf(process.geteuid?.() !== 0)(
    'gives new files and directories to the owner of the mount when root',
    async () => {
      execFileSync('chown', ['1234:2345', ground().inside])
      const files = ground().open()
      await files.write(guest('/workspace/d/e/a'), bytes('x'))
      await files.mkdir(guest('/workspace/m'))
      for (const name of ['d', 'd/e', 'd/e/a', 'm'])
        expect(statSync(ground().host(name))).toMatchObject({ uid: 1234, gid: 2345 })
    },
  )
})
