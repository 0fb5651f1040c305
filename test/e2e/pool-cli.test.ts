// `glovebox ps | stop | prune | stats`, with a server at work and without.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finished } from './command-line.ts'
import { startServer, type ServerGround } from './server-ground.ts'

let place: string
let ground: ServerGround
const ids: string[] = []

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-ps-')))
  ground = await startServer({ place })
  for (const key of ['a', 'b\u001b[31m', 'c'])
    ids.push(String((await ground.call('POST', '/sandboxes', { body: { key } })).at('id')))
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const here = (...argv: readonly string[]): Promise<Finished> => ground.glovebox(argv)
const there = (...argv: readonly string[]): Promise<Finished> => {
  const file = join(place, 'token')
  writeFileSync(file, ground.token, { mode: 0o600 })
  return ground.glovebox([...argv, '--server', ground.url, '--token-file', file])
}
interface Line {
  readonly id: string
  readonly state: string
}
const lines = ({ stdout }: Finished): readonly Line[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

describe('while a server runs', () => {
  it('ps shows what it has, from both sides, and no escape of a caller’s reaches the terminal', async () => {
    const shown = await here('ps')
    expect([shown.code, shown.stderr]).toEqual([0, ''])
    for (const id of ids) expect(shown.stdout).toContain(id)
    expect(shown.stdout).not.toContain('\u001b')
    expect(lines(await here('ps', '--json')).map(({ state }) => state)).toEqual(['open', 'open', 'open'])
    expect(lines(await there('ps', '--json')).map(({ state }) => state)).toEqual(['active', 'active', 'active'])
    expect((await here('ps', '--quiet')).stdout.trim().split('\n').toSorted()).toEqual(ids.toSorted())
  })

  it('stop leaves alone what another process uses, and says who', async () => {
    const refused = await here('stop', ids[0] ?? '')
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/another process uses it[^]*process \d+[^]*--server/)
  })

  it('stop asks the server to pause, and to remove', async () => {
    expect((await there('stop', (ids[0] ?? '').slice(0, 12))).stdout).toBe(`${ids[0]}\n`)
    expect((await ground.call('GET', `/sandboxes/${ids[0]}`)).at('state')).toBe('paused')
    expect((await there('stop', '--remove', ids[1] ?? '')).code).toBe(0)
    expect((await ground.call('GET', `/sandboxes/${ids[1]}`)).status).toBe(404)
  })

  it('stats tells what sandboxes take, and what the pool did', async () => {
    expect((await here('stats')).stdout).toMatch(/DISK[^]*KiB/)
    expect((await there('stats')).stdout).toMatch(/acquired .*3 created/)
    expect(JSON.parse((await there('stats', '--json')).stdout)).toMatchObject({ replicas: 1024 })
  })

  it.each([
    [['stop'], 2, /name sandboxes, or say --all/],
    [['stop', '--all', 'sbx_1234'], 2, /name sandboxes, or say --all/],
    [['stop', 'sbx_ffffffffffffffff'], 1, /there is none/],
    [['stop', 's'], 1, /there is none/],
    [['ps', '--bogus'], 2, /unknown option/],
  ] as const)('%j ends with %i and says why', async (argv, code, words) => {
    const done = await here(...argv)
    expect([done.code, done.stderr]).toEqual([code, expect.stringMatching(words)])
  })
})

describe('without a server', () => {
  it('stop pauses, prune removes what it is told to, and nothing is left', async () => {
    const { token } = ground
    await ground.stop()
    expect(lines(await here('ps', '--json')).map(({ state }) => state)).toEqual(['resting', 'paused'])
    expect((await here('stop', '--all')).code).toBe(0)
    expect(lines(await here('ps', '--json')).map(({ state }) => state)).toEqual(['paused', 'paused'])
    expect((await here('prune')).stdout).toBe('')
    const shown = await here('prune', '--dry-run', '--paused')
    expect(shown.stdout.split('\n')).toHaveLength(3)
    writeFileSync(join(ground.state, 'sandboxes', ids[2] ?? '', 'sandbox.json'), '{}')
    const damaged = await here('ps')
    expect([damaged.stdout, damaged.stderr]).toEqual([
      expect.stringContaining('damaged'),
      expect.stringMatching(/1 sandbox is damaged[^]*glovebox prune --damaged/),
    ])
    expect((await here('stats')).stderr).toMatch(/1 sandbox is damaged[^]*glovebox prune --damaged/)
    const pruned = await here('prune', '--paused', '--json')
    expect(lines(pruned)).toMatchObject([{ id: ids[0], removed: true }])
    expect(lines(await here('prune', '--damaged', '--json'))).toMatchObject([{ id: ids[2], state: 'damaged' }])
    expect((await here('ps')).stderr).toContain('No sandboxes are kept')
    ground = await startServer({ place, token })
    expect((await ground.call('GET', '/sandboxes')).at('items')).toEqual([])
  })
})
