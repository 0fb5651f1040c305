// A pool that cannot make sandboxes ahead of their use says so, in its log and to whoever looks, and goes on when it can again.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type ServerGround } from '../e2e/server-ground.ts'

let place: string
let ground: ServerGround
const data = (): string => join(place, 'secret-place')

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-ahead-')))
  const file = join(place, 'settings.yaml')
  writeFileSync(file, `pool:\n  use: bwrap\n  warm: 2\n  mounts: ['/data=${data()}:ro']\n`, { mode: 0o600 })
  ground = await startServer({ place, flags: ['--config', file] })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const ahead = async (): Promise<unknown> => (await ground.call('GET', '/pool')).at('ahead')
const metric = async (name: string): Promise<number> => {
  const { text } = await ground.call('GET', '/metrics')
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}
const stats = async (): Promise<string> => {
  const token = join(place, 'token')
  writeFileSync(token, ground.token, { mode: 0o600 })
  return (await ground.glovebox(['stats', '--server', ground.url, '--token-file', token])).stdout
}

describe('a refill that fails', () => {
  it('is told in the log with its reason, counted, and shown by stats, and no host path leaves the log', async () => {
    await expect.poll(ahead).toMatchObject({ ready: 0, wanted: 2, why: expect.stringMatching(/^Cannot /) })
    expect(await metric('glovebox_pool_ready_failed_total')).toBeGreaterThan(0)
    expect(await metric('glovebox_pool_ready_wanted')).toBe(2)
    expect(await stats()).toMatch(/made ahead +0 of 2 ready, \d+ could not be made \(the last one: Cannot /)
    expect(JSON.stringify(await ahead()) + (await stats())).not.toContain(data())
    const line = (): string | undefined =>
      ground
        .log()
        .split('\n')
        .find((each) => each.includes('made ahead'))
    // It comes on another way than the answers do.
    await expect.poll(line).toMatch(/"level":"error".*Cannot .*"detail":".*secret-place/)
  })

  it('is tried again with pauses, and not in a circle without end', async () => {
    const before = await metric('glovebox_pool_ready_failed_total')
    const begun = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    const more = (await metric('glovebox_pool_ready_failed_total')) - before
    // In a circle there would be hundreds.
    expect(more).toBeLessThan(4 * ((performance.now() - begun) / 2500))
  })

  it('is over when what was missing is there again, with no start of the server', async () => {
    mkdirSync(data())
    // The pauses become longer up to a minute, and how many there were is the machine's word.
    await expect.poll(ahead, { timeout: 100_000, interval: 100 }).toMatchObject({ ready: 2, wanted: 2, why: null })
    expect(await stats()).toMatch(/made ahead +2 of 2 ready, \d+ could not be made\n/)
  })
})
