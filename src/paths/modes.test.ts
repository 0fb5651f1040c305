import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused, textOf } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('modes', () => {
  it('ro can be read and not written', async () => {
    const ro = ground().mount('/runtime', 'ro')
    writeFileSync(join(ro.hostPath, 'a'), 'x')
    const files = ground().open({ mounts: [ro] })
    expect(await textOf(files, '/runtime/a')).toBe('x')
    await refused('READ_ONLY', files.write(guest('/runtime/a'), bytes('y')))
    await refused('READ_ONLY', files.write(guest('/runtime/n/m'), bytes('y')))
    await refused('READ_ONLY', files.append(guest('/runtime/a'), bytes('y')))
    await refused(
      'READ_ONLY',
      files.update(guest('/runtime/a'), { maxBytes: 9 }, (old) => old),
    )
    await refused('READ_ONLY', files.mkdir(guest('/runtime/d')))
    await refused('READ_ONLY', files.remove(guest('/runtime/a')))
    await refused('READ_ONLY', files.rename(guest('/runtime/a'), guest('/runtime/b')))
  })

  it('vault can be listed, by name only, and neither read nor written', async () => {
    const vault = ground().mount('/vaults/keys', 'vault')
    writeFileSync(join(vault.hostPath, 'token'), 'sesame')
    symlinkSync('sesame', join(vault.hostPath, 'link'))
    symlinkSync('/vaults/keys/token', ground().host('way'))
    const files = ground().open({ mounts: [vault] })
    expect((await files.list(guest('/vaults/keys'), { limit: 9 })).entries).toEqual([
      { name: 'link', kind: 'symlink', sizeBytes: 0 },
      { name: 'token', kind: 'file', sizeBytes: 0 },
    ])
    expect(await files.stat(guest('/vaults/keys/link'))).not.toHaveProperty('target')
    expect(await files.stat(guest('/vaults/keys/token'))).toMatchObject({ sizeBytes: 0 })
    await refused('VAULT', files.read(guest('/vaults/keys/token'), { maxBytes: 9 }))
    await refused('VAULT', files.write(guest('/vaults/keys/token'), bytes('')))
    await refused('VAULT', files.remove(guest('/vaults/keys/token')))
    await refused('LINK_REFUSED', files.read(guest('/vaults/keys/link'), { maxBytes: 9 }))
    await refused('LINK_REFUSED', files.read(guest('/workspace/way'), { maxBytes: 9 }))
  })
})
