import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused, textOf } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('nested mounts', () => {
  it('hide what the parent has at the same place', async () => {
    const nested = ground().mount('/workspace/agent')
    ground().put('agent/who', 'parent')
    writeFileSync(join(nested.hostPath, 'who'), 'nested')
    const files = ground().open({ mounts: [nested] })
    expect(await textOf(files, '/workspace/agent/who')).toBe('nested')
    await files.write(guest('/workspace/agent/new'), bytes('x'))
    expect(existsSync(join(nested.hostPath, 'new'))).toBe(true)
    expect(existsSync(ground().host('agent/new'))).toBe(false)
    const { entries } = await files.list(guest('/workspace'), { limit: 9 })
    expect(entries).toEqual([{ name: 'agent', kind: 'directory', sizeBytes: 0 }])
  })

  it('are reached through a link of the parent, in the guest view', async () => {
    const nested = ground().mount('/workspace/agent')
    writeFileSync(join(nested.hostPath, 'who'), 'nested')
    ground().put('agent/who', 'parent')
    symlinkSync('agent', ground().host('alias'))
    expect(await textOf(ground().open({ mounts: [nested] }), '/workspace/alias/who')).toBe('nested')
  })

  it('can be neither removed nor renamed, nor what leads to them', async () => {
    ground().put('a/x')
    const files = ground().open({ mounts: [ground().mount('/workspace/a/b')] })
    for (const path of ['/workspace', '/workspace/a', '/workspace/a/b', '/']) {
      await refused('NOT_PERMITTED', files.remove(guest(path), { recursive: true }))
      await refused('NOT_PERMITTED', files.rename(guest(path), guest('/workspace/z')))
    }
    await refused('NOT_PERMITTED', files.rename(guest('/workspace/a/x'), guest('/workspace/a/b')))
  })

  it('are a border for rename', async () => {
    ground().put('x')
    const files = ground().open({ mounts: [ground().mount('/other')] })
    await refused('INVALID_INPUT', files.rename(guest('/workspace/x'), guest('/other/x')))
  })
})
