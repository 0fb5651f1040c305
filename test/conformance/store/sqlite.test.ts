// The store's contract on SQLite, the default, and what is true of files alone.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { execFileSync, spawnSync } from 'node:child_process'
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

  const nobodys: readonly (readonly [string, (path: string) => void])[] = [
    ['a note of somebody', (path) => writeFileSync(path, 'this is not a database, it is a note of somebody')],
    ['one short line', (path) => writeFileSync(path, 'note\n')],
    ['a directory', (path) => mkdirSync(path)],
    ['a FIFO', (path) => void execFileSync('mkfifo', [path])],
  ]
  it.each(nobodys)('is not taken for one that a URL names: %s is refused and left as it is', async (_what, lay) => {
    const place = mkdtempSync(join(directory, 'named-'))
    const path = join(place, 'named')
    lay(path)
    const look = (): unknown => [readdirSync(place), statSync(path).ino, statSync(path).mtimeMs, statSync(path).size]
    const before = look()
    for (const onDamage of ['refuse', 'quarantine'] as const)
      await expect(openStore({ url: `sqlite:${path}`, onDamage })).rejects.toMatchObject({
        code: 'INVALID_SETTINGS',
        hint: expect.stringContaining('sqlite:/path/to/file.db') as string,
        operatorDetail: path,
      })
    expect(look()).toEqual(before)
  })

  it('that a URL names is put aside when it is damaged, if it begins as one', async () => {
    const path = newDatabase()
    await (await openStore({ url: `sqlite:${path}` })).close()
    const harmed = readFileSync(path).fill(0x99, 100)
    writeFileSync(path, harmed)
    const store = await openStore({ url: `sqlite:${path}`, onDamage: 'quarantine' })
    expect(readFileSync(store.quarantined!).equals(harmed)).toBe(true)
    await store.close()
  })

  it('that is empty is filled', async () => {
    const path = newDatabase()
    writeFileSync(path, '')
    const store = await openStore({ url: `sqlite:${path}` })
    expect(await store.tokens.count()).toBe(0)
    await store.close()
  })

  it.each(['mysql://x/y', 'https://x', '', 'sqlite:', 'Postgrs://x'])('%j is no URL of a database', async (url) => {
    await expect(openStore({ url })).rejects.toMatchObject({ code: 'INVALID_SETTINGS' })
  })
})
