// `glovebox token` as an operator uses it, on a database that is sound, full or damaged.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TokenRow } from '../../src/contract/store.ts'
import { openStore } from '../../src/store/open.ts'
import { at, tokenRow } from '../conformance/store/subject.ts'
import { run, type Finished } from './command-line.ts'

let place: string
let state: string
let database: string
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-token-')))
  state = join(place, 'state')
  mkdirSync(state, { mode: 0o700 })
  database = join(state, 'glovebox.db')
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const token = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Finished> =>
  run(['token', ...argv], { cwd: place, env: { GLOVEBOX_STATE_DIR: state, ...env } })

const fill = async (rows: readonly TokenRow[]): Promise<void> => {
  const store = await openStore({ url: database })
  await Promise.all(rows.map((row) => store.tokens.insert(row)))
  await store.close()
}
const revokedAt = async (id: string): Promise<string | null | undefined> => {
  const store = await openStore({ url: database })
  const row = await store.tokens.find(id)
  await store.close()
  return row?.revoked_at
}
const row = (number: number, change: Partial<TokenRow> = {}): TokenRow => {
  const digits = number.toString(16).padStart(8, '0')
  return { ...tokenRow(digits), id: `tok_${digits}${'0'.repeat(24)}`, created_at: at(number), ...change }
}

describe('a token command on a damaged database', () => {
  it.each([['list'], ['create', 'ci'], ['revoke', 'tok_0']])(
    '(%s) leaves it as it is and says what to run',
    async (...argv) => {
      writeFileSync(database, 'not a database at all')
      const done = await token(argv)
      expect([done.code, done.stdout, done.stderr]).toEqual([
        1,
        '',
        expect.stringMatching(/its file is damaged[^]*Start the server again, or stop it and run `glovebox reindex`/),
      ])
      expect(readFileSync(database, 'utf8')).toBe('not a database at all')
      expect(readdirSync(state).filter((name) => name.includes('damaged'))).toEqual([])
    },
  )

  it('works again once it was made anew', async () => {
    writeFileSync(database, 'not a database at all')
    const data = join(place, 'data')
    mkdirSync(data)
    const reindexed = await run(['reindex', '--data', data], { cwd: place, env: { GLOVEBOX_STATE_DIR: state } })
    expect([reindexed.code, reindexed.stderr]).toEqual([0, expect.stringContaining('was damaged and is kept as')])
    expect((await token(['create', 'ci'])).code).toBe(0)
  })
})

describe('DATABASE_URL', () => {
  it.each(['notes.txt', './notes.txt', 'absolute', 'sqlite:notes.txt'])(
    '(%s) that names a file of somebody is refused, and the file left as it is',
    async (named) => {
      const notes = join(place, 'notes.txt')
      writeFileSync(notes, 'what I must not forget\n')
      const done = await token(['list'], { DATABASE_URL: named === 'absolute' ? notes : named })
      expect([done.code, done.stdout]).toEqual([2, ''])
      expect(done.stderr).toContain('sqlite:/path/to/file.db')
      expect(readFileSync(notes, 'utf8')).toBe('what I must not forget\n')
      expect(readdirSync(place).toSorted()).toEqual(['notes.txt', 'state'])
    },
  )

  it('that names a directory is refused in words', async () => {
    const done = await token(['list'], { DATABASE_URL: `sqlite:${place}` })
    expect([done.code, done.stderr]).toEqual([
      2,
      expect.stringContaining('Cannot open the database: where it is to be, there is a directory'),
    ])
    expect(existsSync(join(place, 'locks'))).toBe(false)
  })
})

describe('glovebox token revoke', () => {
  it('finds a token behind any number of others, by its id or by the beginning of it', async () => {
    const rows = Array.from({ length: 1002 }, (_, number) => row(number))
    await fill(rows)
    const [oldest, next] = rows.map(({ id }) => id) as [string, string]
    expect(await token(['revoke', oldest])).toMatchObject({ code: 0, stdout: `${oldest} is revoked.\n` })
    expect(await token(['revoke', next.slice(0, 12)])).toMatchObject({ code: 0, stdout: `${next} is revoked.\n` })
    expect([await revokedAt(oldest), await revokedAt(next)]).toEqual([expect.any(String), expect.any(String)])
  })

  it.each(['', 'tok', 'tok_'])('asks for more where %j is all that it is given', async (asked) => {
    await fill([row(1)])
    const done = await token(['revoke', asked])
    expect([done.code, done.stderr]).toEqual([2, expect.stringContaining('Write more of its id')])
    expect(await revokedAt(row(1).id)).toBeNull()
  })

  it('revokes none of several that begin alike', async () => {
    await fill([row(1), row(2)])
    const done = await token(['revoke', 'tok_000'])
    expect([done.code, done.stderr]).toEqual([2, expect.stringContaining('2 begin so')])
    expect([await revokedAt(row(1).id), await revokedAt(row(2).id)]).toEqual([null, null])
  })
})

describe('glovebox token list', () => {
  it('tells tokens in force from expired and revoked ones', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await fill([
      row(1, { name: 'endless', expires_at: null }),
      row(2, { name: 'later', expires_at: later }),
      row(3, { name: 'over', expires_at: at(0) }),
      row(4, { name: 'gone', expires_at: at(0), revoked_at: at(0) }),
    ])
    const { stdout } = await token(['list'])
    const states = stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ {2,}/).slice(3))
    expect(states).toEqual([
      ['revoked', 'gone'],
      ['expired', 'over'],
      [`until ${later}`, 'later'],
      ['in force', 'endless'],
    ])
  })
})

describe('glovebox token create', () => {
  it('takes the example of its help, and the token lives for thirty days', async () => {
    const help = await token(['--help'])
    const example = /\$ glovebox token (create .+)\n/.exec(help.stdout)?.[1]?.split(' ') ?? []
    expect(example).toContain('30d')
    const begun = Date.now()
    const done = await token([...example, '--json'])
    const { expires_at } = JSON.parse(done.stdout) as { readonly expires_at: string }
    const days = (Date.parse(expires_at) - begun) / 86_400_000
    expect([Math.floor(days), done.code]).toEqual([30, 0])
  })

  it.each([
    ['no name', ['']],
    ['too long a name', ['x'.repeat(201)]],
    ['a life beyond any calendar', ['ci', '--expires', '99999999d']],
  ])('refuses %s, as the API does', async (_what, argv) => {
    const done = await token(['create', ...argv])
    expect([done.code, done.stdout, done.stderr]).toEqual([2, '', expect.stringContaining('Cannot make the token')])
    expect((await token(['list', '--json'])).stdout).toBe('')
  })
})
