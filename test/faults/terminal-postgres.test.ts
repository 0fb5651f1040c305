// A person at a terminal of a server whose database goes away: what was done in the sandbox is never lost by that.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { until } from '../e2e/command-line.ts'
import { sit, type Person } from '../e2e/seated.ts'
import { startServer, type ServerGround } from '../e2e/server-ground.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('glovebox shell --server', () => {
  let cluster: Cluster
  let ground: ServerGround
  let place: string
  beforeAll(() => {
    cluster = startCluster()
  })
  afterAll(() => cluster.remove())
  afterEach(async () => {
    await ground.stop()
    rmSync(place, { recursive: true, force: true })
  })

  /** Its leases lie in that database, too, and would end what runs if it was away for longer than they last. */
  const serve = async (...limits: readonly string[]): Promise<void> => {
    place = mkdtempSync(join(tmpdir(), 'glovebox-terminal-'))
    mkdirSync(join(place, 'cwd'))
    writeFileSync(join(place, 'cwd', 'glovebox.yaml'), 'pool: { lease_timeout: 600 }\n')
    const flags = limits.flatMap((limit) => ['--limit', limit])
    ground = await startServer({ place, flags, env: { DATABASE_URL: cluster.createDatabase() } })
  }
  const far = (...argv: readonly string[]): Person =>
    sit(['shell', '--server', ground.url, ...argv], {
      cwd: ground.directory,
      env: { GLOVEBOX_TOKEN: ground.token },
      stderr: true,
    })
  /** Where somebody sits who has done something that would be missed. */
  const sitAndWork = async (): Promise<Person> => {
    const person = far()
    await person.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    person.type("echo kept > kept.txt; echo writ''ten\r")
    await person.viewer.until('it is written', (screen) => screen.includes('written'))
    return person
  }
  /** As the server answers who asks for something with the same token. */
  const asked = async (): Promise<number> => (await ground.call('GET', '/sandboxes')).status

  it('goes on where it was when the database comes back soon', async () => {
    await serve('heartbeatMs=300')
    const person = await sitAndWork()
    cluster.stop('immediate')
    // By now nobody is believed any more without being asked for, and several heartbeats ask.
    for (let refused = 0; refused < 3; refused += (await asked()) === 503 ? 1 : 0)
      await new Promise((resolve) => setTimeout(resolve, 400))
    cluster.start()
    await expect.poll(asked, { timeout: 30_000 }).toBe(200)
    person.type("cat kept.txt; echo st''ill\r")
    await person.viewer.until('it is there', (screen) => /kept\nstill/.test(screen))
    person.type('exit 5\r')
    expect(await person.finished).toBe(5)
  })

  it('leaves the terminal when the database stays away, says how to come back, and ends nothing', async () => {
    await serve('heartbeatMs=300', 'stalledMs=1000')
    const person = await sitAndWork()
    cluster.stop('immediate')
    expect(await person.finished).toBe(125)
    const way = (): readonly string[] => /--sandbox (sbx_\w+) --attach (sh_\w+)\s/.exec(person.raw()) ?? []
    await until('it is told how to come back', () => way().length > 0)
    cluster.start()
    await expect.poll(asked, { timeout: 30_000 }).toBe(200)
    const [, sandbox = '', shell = ''] = way()
    const back = far('--sandbox', sandbox, '--attach', shell)
    await back.viewer.until('the screen as it stands', (screen) => screen.includes('written'))
    back.type("cat kept.txt; echo st''ill\r")
    await back.viewer.until('it is there', (screen) => /kept\nstill/.test(screen))
    back.type('exit 7\r')
    expect(await back.finished).toBe(7)
  })
})
