import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import type { Store } from '../../contract/store.ts'
import { openStore } from '../../store/open.ts'
import { serverKey } from './place.ts'

let state: HostPath
let store: Store
const open = (name: string): Promise<Store> => openStore({ url: join(state, `${name}.db`) })
beforeEach(async () => {
  state = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-place-'))) as HostPath
  store = await open('first')
})
afterEach(async () => {
  await store.close()
  rmSync(state, { recursive: true, force: true })
})

describe("the server's key", () => {
  const before = (): string => join(state, 'keys', 'server.key')
  const lay = (path: string, content: Uint8Array | string = new Uint8Array(40).fill(7)): void => {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, content, { mode: 0o600 })
  }

  it('is made once for a database, and lies nowhere else', async () => {
    const key = await serverKey(state, store, {})
    expect(key).toHaveLength(32)
    expect(Buffer.from(await serverKey(state, store, {}))).toEqual(Buffer.from(key))
    expect(existsSync(before())).toBe(false)
    const other = await open('other')
    expect(Buffer.from(await serverKey(state, other, {}))).not.toEqual(Buffer.from(key))
    await other.close()
  })

  it('of a server of before is carried into the database, where it stays when its file is gone', async () => {
    lay(before())
    expect([...(await serverKey(state, store, {}))]).toEqual(Array.from({ length: 40 }, () => 7))
    rmSync(before())
    expect([...(await serverKey(state, store, {}))]).toEqual(Array.from({ length: 40 }, () => 7))
  })

  it('that the database has is not replaced by one of a server of before', async () => {
    const key = await serverKey(state, store, {})
    lay(before())
    expect([...(await serverKey(state, store, {}))]).toEqual([...key])
  })

  it('that is named by a file is not put into the database', async () => {
    const named = join(state, 'named.key')
    lay(named)
    expect([...(await serverKey(state, store, { GLOVEBOX_SERVER_KEY_FILE: named }))]).toHaveLength(40)
    expect([...(await store.serverKey(() => new Uint8Array(32)))]).toEqual(Array.from({ length: 32 }, () => 0))
  })

  const harms: readonly (readonly [string, (path: string) => void])[] = [
    ['short', (path) => writeFileSync(path, '')],
    ['readable by others', (path) => chmodSync(path, 0o644)],
  ]
  it.each(harms)('that is %s is refused, left as it is, and does not come into the database', async (_how, harm) => {
    lay(before())
    harm(before())
    const seen = statSync(before())
    const asked = [{}, { GLOVEBOX_SERVER_KEY_FILE: before() }]
    for (const environment of asked)
      await expect(serverKey(state, store, environment)).rejects.toMatchObject({ code: 'INVALID_SETTINGS' })
    expect(statSync(before())).toMatchObject({ ino: seen.ino, size: seen.size, mode: seen.mode })
    expect([...(await store.serverKey(() => new Uint8Array(32)))]).toEqual(Array.from({ length: 32 }, () => 0))
  })
})
