// A token's secret that somebody gives to `glovebox token revoke` in place of its id: the audit log is signed and kept, so it must not have it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { run, type Finished } from './command-line.ts'

let place: string
let state: string
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-token-secret-')))
  state = join(place, 'state')
  mkdirSync(state, { mode: 0o700 })
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const token = (...argv: readonly string[]): Promise<Finished> =>
  run(['token', ...argv], { cwd: place, env: { GLOVEBOX_STATE_DIR: state } })
/** All that lies in the state directory. */
const kept = (): string =>
  readdirSync(state, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
const revokedAt = async (id: string): Promise<string | null | undefined> => {
  const store = await openStore({ url: join(state, 'glovebox.db') })
  const row = await store.tokens.find(id)
  await store.close()
  return row?.revoked_at
}

describe('glovebox token revoke', () => {
  it('a secret that is given in place of an id is neither shown nor recorded', async () => {
    const made = JSON.parse((await token('create', 'ci', '--json')).stdout) as {
      readonly id: string
      readonly token: string
    }
    const { id, token: secret } = made
    for (const given of [secret, `Bearer ${secret}`, ` ${secret}`, secret.slice(0, -1)]) {
      const done = await token('revoke', given)
      expect([done.code, done.stdout, done.stderr]).toEqual([2, '', expect.stringContaining('begins with tok_')])
      expect(done.stderr).not.toContain(secret.slice(4, 20))
    }
    expect(kept()).not.toContain(secret.slice(4, 20))
    expect(await revokedAt(id)).toBeNull()
    expect(await token('revoke', id)).toMatchObject({ code: 0 })
  })

  it('is recorded under the whole id, whatever beginning of it was typed, and not at all where there is none', async () => {
    const { id } = JSON.parse((await token('create', 'ci', '--json')).stdout) as { readonly id: string }
    const typed = 'tok_typed-by-mistake'
    expect(await token('revoke', typed)).toMatchObject({ code: 1, stdout: '' })
    expect(await token('revoke', id.slice(0, 14))).toMatchObject({ code: 0, stdout: `${id} is revoked.\n` })
    const log = kept()
    expect(log).not.toContain(typed)
    expect(log).toMatch(new RegExp(`token\\.revoke[^\\n]*"${id}"|"${id}"[^\\n]*token\\.revoke`))
  })
})
