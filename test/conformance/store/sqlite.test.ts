// The store's contract on SQLite, the default, and what is true of files alone.
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/open.ts'
import { otherUser } from '../../fixtures/package-copy.ts'
import { describeStore } from './suite.ts'
import { tokenRow } from './subject.ts'

const directory = mkdtempSync(join(tmpdir(), 'glovebox-store-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let databases = 0
const newDatabase = (): string => join(directory, `${++databases}.db`)
describeStore({ kind: 'sqlite', newDatabase })

describe('a SQLite file', () => {
  const canRead = (path: string): boolean => spawnSync('cat', [path], { uid: otherUser, gid: otherUser }).status === 0

  it.skipIf(process.getuid?.() !== 0)('nobody but the operator can read the database', async () => {
    // Even where the directory lets everybody in.
    chmodSync(directory, 0o755)
    const before = process.umask(0)
    try {
      const url = newDatabase()
      const store = await openStore({ url })
      await store.tokens.insert(tokenRow('t'))
      const files = ['', '-wal', '-shm'].map((part) => `${url}${part}`)
      expect(files.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600, 0o600])
      expect(files.map(canRead)).toEqual([false, false, false])
      await store.close()
      const control = join(directory, 'control')
      writeFileSync(control, '', { mode: 0o644 })
      expect(canRead(control), 'control').toBe(true)
    } finally {
      process.umask(before)
    }
  })

  it.each(['sqlite:', 'sqlite://', 'file:'])('is found by the URL %s only where that is its scheme', async (scheme) => {
    const path = newDatabase()
    const opening = openStore({ url: `${scheme}${path}` })
    if (scheme === 'file:') await expect(opening).rejects.toMatchObject({ code: 'INVALID_SETTINGS' })
    else await (await opening).close()
    expect(statSync(path, { throwIfNoEntry: false }) !== undefined).toBe(scheme !== 'file:')
  })

  it.each(['mysql://x/y', 'https://x', '', 'sqlite:', 'Postgrs://x'])('%j is no URL of a database', async (url) => {
    await expect(openStore({ url })).rejects.toMatchObject({ code: 'INVALID_SETTINGS' })
  })
})
