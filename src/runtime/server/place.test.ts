import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { serverKey } from './place.ts'

let state: HostPath
beforeEach(() => {
  state = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-place-'))) as HostPath
})
afterEach(() => rmSync(state, { recursive: true, force: true }))

describe("the server's key", () => {
  const path = (): string => join(state, 'keys', 'server.key')

  it('is made once, alone in its place and readable by its owner alone', () => {
    const key = serverKey(state, {})
    expect(key).toHaveLength(32)
    expect(serverKey(state, {})).toEqual(key)
    expect(readdirSync(join(state, 'keys'))).toEqual(['server.key'])
    expect(statSync(path())).toMatchObject({ mode: 0o100600, nlink: 1 })
  })

  it.each([
    ['short', () => writeFileSync(path(), '')],
    ['readable by others', () => chmodSync(path(), 0o644)],
  ])('that is %s is refused and left as it is', (_how, harm) => {
    serverKey(state, {})
    harm()
    const before = statSync(path())
    expect(() => serverKey(state, {})).toThrow(expect.objectContaining({ code: 'INVALID_SETTINGS' }))
    expect(statSync(path())).toMatchObject({ ino: before.ino, size: before.size, mode: before.mode })
  })
})
