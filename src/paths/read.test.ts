import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { linkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe.skipIf(!onLinux)('reading', () => {
  it('gives the bytes and the size', async () => {
    ground().put('a.txt', 'hello')
    const result = await ground().open().read(guest('/workspace/a.txt'), { maxBytes: 5 })
    expect(Buffer.from(result.bytes).toString()).toBe('hello')
    expect(result.sizeBytes).toBe(5)
  })

  it('gives an empty file as no bytes', async () => {
    ground().put('empty', '')
    expect(await ground().open().read(guest('/workspace/empty'), { maxBytes: 0 })).toMatchObject({ sizeBytes: 0 })
  })

  it('refuses a file above maxBytes unless a part is asked for', async () => {
    ground().put('a.txt', '0123456789')
    const files = ground().open()
    await refused('TOO_LARGE', files.read(guest('/workspace/a.txt'), { maxBytes: 9 }))
    const part = await files.read(guest('/workspace/a.txt'), { maxBytes: 3, offset: 4, partial: true })
    expect(Buffer.from(part.bytes).toString()).toBe('456')
    expect(part.sizeBytes).toBe(10)
    const past = await files.read(guest('/workspace/a.txt'), { maxBytes: 3, offset: 40, partial: true })
    expect(past.bytes.length).toBe(0)
  })

  it('reads a file of several chunks', async () => {
    const big = 'x'.repeat(3_500_000)
    ground().put('big', big)
    const { bytes: got } = await ground().open().read(guest('/workspace/big'), { maxBytes: 4_000_000 })
    expect(sha256(Buffer.from(got).toString())).toBe(sha256(big))
  })

  it.each([-1, 1.5, Number.NaN])('refuses maxBytes of %s', async (maxBytes) => {
    ground().put('a')
    await refused('INVALID_INPUT', ground().open().read(guest('/workspace/a'), { maxBytes }))
  })

  it('refuses a FIFO, without hanging, and a socket', async () => {
    execFileSync('mkfifo', [ground().host('fifo')])
    const server = createServer().listen(ground().host('socket'))
    await once(server, 'listening')
    const files = ground().open()
    for (const path of [guest('/workspace/fifo'), guest('/workspace/socket')]) {
      await refused('NOT_A_FILE', files.read(path, { maxBytes: 10 }))
      await refused('NOT_A_FILE', files.write(path, bytes('x')))
      await refused('NOT_A_FILE', files.append(path, bytes('x')))
      expect((await files.stat(path)).kind).toBe('other')
    }
    server.close()
    await once(server, 'close')
  })

  it.skipIf(process.geteuid?.() !== 0)('refuses a device', async () => {
    execFileSync('mknod', [ground().host('zero'), 'c', '1', '5'])
    await refused('NOT_A_FILE', ground().open().read(guest('/workspace/zero'), { maxBytes: 10, partial: true }))
  })

  it('tells a directory, a missing file and a path through a file apart', async () => {
    ground().put('d/a')
    const files = ground().open()
    await refused('IS_A_DIRECTORY', files.read(guest('/workspace/d'), { maxBytes: 1 }))
    await refused('IS_A_DIRECTORY', files.read(guest('/workspace'), { maxBytes: 1 }))
    await refused('IS_A_DIRECTORY', files.read(guest('/'), { maxBytes: 1 }))
    await refused('NOT_FOUND', files.read(guest('/workspace/none'), { maxBytes: 1 }))
    await refused('NOT_A_DIRECTORY', files.read(guest('/workspace/d/a/b'), { maxBytes: 1 }))
    await refused('OUTSIDE_MOUNTS', files.read(guest('/etc/passwd'), { maxBytes: 1 }))
    await refused('OUTSIDE_MOUNTS', files.read(guest('/workspace/../../etc/passwd'), { maxBytes: 1 }))
    await refused('OUTSIDE_MOUNTS', files.read(guest('/proc/self/root/etc/passwd'), { maxBytes: 1 }))
  })

  it('refuses a file with several names', async () => {
    linkSync(join(ground().outside, 'secret.txt'), ground().host('hard'))
    const files = ground().open()
    await refused('LINK_REFUSED', files.read(guest('/workspace/hard'), { maxBytes: 100 }))
    await refused(
      'LINK_REFUSED',
      files.update(guest('/workspace/hard'), { maxBytes: 100 }, (old) => old),
    )
    await refused('LINK_REFUSED', files.write(guest('/workspace/hard'), bytes('x'), { expectedSha256: sha256('x') }))
  })

  it('escapes control characters of a path in its message', async () => {
    await expect(ground().open().stat(guest('/workspace/a\nCannot b'))).rejects.toThrow(
      'Cannot stat /workspace/a\\x0aCannot b:',
    )
  })
})
