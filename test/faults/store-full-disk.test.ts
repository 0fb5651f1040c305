// SQLite on a full disk, as a real filesystem in a throw-away mount namespace.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const script = `
  const { openStore } = await import(process.argv[1])
  const { execFileSync } = await import('node:child_process')
  const { rmSync, writeFileSync } = await import('node:fs')
  const root = process.argv[2]
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', root])
  const store = await openStore({ url: root + '/glovebox.db' })
  const token = (id) => ({ id, name: 'n'.repeat(5000), hash: id, scopes: ['read'], project: null, not_before: null,
    expires_at: null, revoked_at: null, created_at: new Date(0).toISOString(), created_by: null })
  const code = (work) => work.then(() => 'done', (error) => error.code)
  let answered = 0
  while ((await code(store.tokens.insert(token('before' + answered)))) === 'done') answered++
  try {
    for (let name = 0; ; name++) writeFileSync(root + '/fill' + name, Buffer.alloc(512))
  } catch {}
  const together = await Promise.all([1, 2, 3].map((n) => code(store.tokens.insert(token('full' + n)))))
  const found = await store.tokens.count()
  const newest = await store.tokens.find('before' + (answered - 1)) !== undefined
  rmSync(root + '/fill0', { force: true })
  execFileSync('mount', ['-o', 'remount,size=4m', root])
  const later = await code(store.tokens.insert(token('later')))
  await store.close()
  const again = await openStore({ url: root + '/glovebox.db' })
  console.log(JSON.stringify({ together, lost: answered - found, newest, later, sound: again.quarantined === undefined,
    after: (await again.tokens.count()) - answered }))
`

describe.skipIf(process.platform !== 'linux')('a SQLite file on a full disk', () => {
  it('refuses what it cannot keep, loses nothing that it answered for, and goes on when there is room', () => {
    const root = mkdtempSync(join(tmpdir(), 'glovebox-store-full-'))
    try {
      const unshare = process.geteuid?.() === 0 ? ['-m'] : ['-Urm']
      const open = fileURLToPath(new URL('../../dist/store/open.js', import.meta.url))
      const argv = [...unshare, process.execPath, '--input-type=module', '-e', script, open, root]
      expect(JSON.parse(execFileSync('unshare', argv, { encoding: 'utf8' }))).toEqual({
        together: ['NO_SPACE', 'NO_SPACE', 'NO_SPACE'],
        lost: 0,
        newest: true,
        later: 'done',
        sound: true,
        after: 1,
      })
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
})
