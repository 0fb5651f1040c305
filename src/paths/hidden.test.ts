import { existsSync, renameSync, symlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'

const ground = groundForEach()

describe.skipIf(!onLinux)('hidden paths', () => {
  it('are refused for everything, at and below', async () => {
    ground().put('private/key')
    symlinkSync('private', ground().host('alias'))
    const files = ground().open({ denyRead: ['/workspace/private'] })
    await refused('NOT_PERMITTED', files.stat(guest('/workspace/private')))
    await refused('NOT_PERMITTED', files.list(guest('/workspace/private'), { limit: 9 }))
    await refused('NOT_PERMITTED', files.read(guest('/workspace/private/key'), { maxBytes: 9 }))
    await refused('NOT_PERMITTED', files.read(guest('/workspace/alias/key'), { maxBytes: 9 }))
    await refused('NOT_PERMITTED', files.write(guest('/workspace/private/new'), bytes('')))
    await refused('NOT_PERMITTED', files.rename(guest('/workspace/private'), guest('/workspace/p2')))
    await refused('NOT_PERMITTED', files.remove(guest('/workspace/private'), { recursive: true }))
  })

  it('stay hidden when somebody inside renames a directory above them', async () => {
    ground().put('d/private/key')
    const files = ground().open({ denyRead: ['/workspace/d/private'] })
    await refused('NOT_PERMITTED', files.rename(guest('/workspace/d'), guest('/workspace/e')))
    renameSync(ground().host('d'), ground().host('e'))
    await refused('NOT_PERMITTED', files.read(guest('/workspace/e/private/key'), { maxBytes: 9 }))
    await refused('NOT_PERMITTED', files.remove(guest('/workspace/e'), { recursive: true }))
    expect(existsSync(ground().host('e/private/key'))).toBe(true)
  })
})
