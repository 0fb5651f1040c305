import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused, textOf } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('protected names', () => {
  const protect = ['.git/hooks', '.bashrc']

  it('can be neither changed nor created, in any case', async () => {
    const files = ground().open({ protect })
    for (const path of ['.bashrc', '.BASHRC', '.git/hooks/x', '.Git/HOOKS/x']) {
      await refused('PROTECTED', files.write(guest(`/workspace/${path}`), bytes('x')))
      await refused('PROTECTED', files.append(guest(`/workspace/${path}`), bytes('x')))
      await refused('PROTECTED', files.mkdir(guest(`/workspace/${path}`)))
    }
    expect(readdirSync(ground().inside)).toEqual([])
  })

  it('can be neither removed nor renamed, nor their ancestors, nor be replaced by a rename', async () => {
    ground().put('.git/hooks/pre-commit')
    ground().put('evil/hooks/pre-commit')
    const files = ground().open({ protect })
    for (const path of ['/workspace/.git', '/workspace/.git/hooks', '/workspace/.git/hooks/pre-commit']) {
      await refused('PROTECTED', files.remove(guest(path), { recursive: true }))
      await refused('PROTECTED', files.rename(guest(path), guest('/workspace/x')))
      await refused('PROTECTED', files.rename(guest('/workspace/evil'), guest(path)))
    }
    expect(await textOf(files, '/workspace/.git/hooks/pre-commit')).toBe('x')
  })

  it('are not reached through a link, nor where they are a link themselves', async () => {
    ground().put('real-hooks/a')
    mkdirSync(ground().host('.git'))
    symlinkSync('../real-hooks', ground().host('.git/hooks'))
    symlinkSync('.git', ground().host('alias'))
    const files = ground().open({ protect })
    await refused('PROTECTED', files.write(guest('/workspace/alias/hooks/x'), bytes('x')))
    await refused('PROTECTED', files.write(guest('/workspace/real-hooks/x'), bytes('x')))
    await refused('PROTECTED', files.remove(guest('/workspace/real-hooks'), { recursive: true }))
  })

  it('are not replaced by a file at an ancestor', async () => {
    const files = ground().open({ protect })
    await refused('PROTECTED', files.write(guest('/workspace/.git'), bytes('gitdir: evil')))
    expect(await files.mkdir(guest('/workspace/.git'))).toEqual({ created: true })
    await files.write(guest('/workspace/.git/HEAD'), bytes('x'))
  })
})
