import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { HostPath } from '../contract/mount.ts'
import { bytes, groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('opening and closing', () => {
  it('refuses a mount that is missing or no directory, without its host path', () => {
    const missing = {
      guestPath: guest('/m'),
      hostPath: join(ground().directory, 'none') as HostPath,
      mode: 'rw' as const,
    }
    expect(() => ground().open({ mounts: [missing] })).toThrow(
      'Cannot mount /m: the directory behind it cannot be opened',
    )
    const file = { ...missing, hostPath: join(ground().outside, 'secret.txt') as HostPath }
    expect(() => ground().open({ mounts: [file] })).toThrow(expect.objectContaining({ code: 'NOT_A_DIRECTORY' }))
  })

  it('refuses everything after close, and close is idempotent', async () => {
    ground().put('a')
    const files = ground().open()
    files.close()
    files.close()
    await refused('SANDBOX_GONE', files.read(guest('/workspace/a'), { maxBytes: 9 }))
    await refused('SANDBOX_GONE', files.write(guest('/workspace/a'), bytes('')))
  })

  it('ends what is under way on its own descriptors when closed meanwhile', async () => {
    const files = ground().open()
    const writing = files.write(guest('/workspace/a'), bytes('late'))
    files.close()
    await writing
    expect(readFileSync(ground().host('a'), 'utf8')).toBe('late')
  })

  it('gives the descriptor of the directory that is walked', () => {
    const mount = ground().mount('/m')
    const files = ground().open({ mounts: [mount] })
    const link = statSync(`/proc/self/fd/${files.rootDescriptor(mount)}`)
    expect(link.ino).toBe(statSync(mount.hostPath).ino)
  })
})
