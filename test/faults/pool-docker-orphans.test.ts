// A server that is killed with everything that it started, while commands run in its sandboxes: the containers are the daemon's and go on, so
// the next server has to find them. They bear the name of the installation, which lies in the state and with the data.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startServer, type ServerGround } from '../e2e/server-ground.ts'
import { makeServerPlace, type ServerPlace } from '../fixtures/server-place.ts'
import { hasDockerImage, removeContainers } from './docker-pool.ts'
import { survivors } from './killed-exec-server.ts'
import { killWithAllBelow } from './process-tree.ts'

const docker = (...args: readonly string[]): string => execFileSync('docker', [...args], { encoding: 'utf8' }).trim()

const nameAt = (place: string): string => readFileSync(join(place, 'state/docker/installation'), 'utf8').trim()
const containersOf = (installation: string): readonly string[] =>
  docker('ps', '--all', '--quiet', '--no-trunc', '--filter', `label=dev.glovebox.installation=${installation}`)
    .split('\n')
    .filter((id) => id !== '')
    .toSorted()

const live = 6

interface Served {
  readonly place: ServerPlace
  readonly server: ServerGround
  readonly installation: string
}

describe.runIf(hasDockerImage())('sandboxes on docker whose server was killed with all that it started', () => {
  const places: ServerPlace[] = []
  const servers: ServerGround[] = []
  const names = new Set<string>()
  afterEach(async () => {
    for (const { server } of servers.splice(0)) {
      server.child.kill('SIGKILL')
      await server.finished
    }
    for (const name of names) {
      const left = containersOf(name)
      if (left.length > 0) await removeContainers(left)
    }
    names.clear()
    for (const place of places.splice(0)) place.remove()
  })
  interface Starting {
    readonly flags?: readonly string[]
    /** That of an earlier one on the same state. */
    readonly token?: string
  }
  const start = async (
    at?: ServerPlace,
    { flags = ['--backend', 'docker'], ...more }: Starting = {},
  ): Promise<Served> => {
    const place = at ?? makeServerPlace()
    if (at === undefined) places.push(place)
    const server = await startServer({ place: place.place, flags, ...more })
    servers.push(server)
    const installation = nameAt(place.place)
    names.add(installation)
    return { place, server, installation }
  }
  const begin = async ({ server }: Served, more: object = {}): Promise<string> => {
    const made = await server.call('POST', '/sandboxes', { body: more })
    if (made.status !== 201) throw new Error(made.text)
    const id = String(made.at('id'))
    const body = { command: 'echo kept > note; sleep 600', background: true }
    expect((await server.call('POST', `/sandboxes/${id}/commands`, { body })).status).toBe(202)
    return id
  }
  /** They run their commands, and nobody on this host holds them any more. */
  const abandoned = async (served: Served, more: object = {}): Promise<readonly string[]> => {
    const ids: string[] = []
    for (let count = 0; count < live; count += 1) ids.push(await begin(served, more))
    const noteOf = (id: string): string => join(served.place.place, 'state/sandboxes', id, 'workspace/note')
    await expect.poll(() => ids.every((id) => existsSync(noteOf(id)))).toBe(true)
    killWithAllBelow(served.server.server.child.pid ?? 0)
    await served.server.server.finished
    // The control: they go on.
    expect(containersOf(served.installation)).toHaveLength(live)
    return ids
  }
  const looseState = ({ place }: Served): void => rmSync(join(place.place, 'state'), { recursive: true })

  it('have their files and no old container with the next one, and what another installation has goes on', async () => {
    const other = await start()
    await begin(other)
    const others = containersOf(other.installation)
    const first = await start()
    const [id = ''] = await abandoned(first)
    const next = await start(first.place, { token: first.server.token })
    await expect.poll(() => containersOf(next.installation)).toEqual([])
    const body = { command: ['cat', 'note'] }
    const said = await next.server.call('POST', `/sandboxes/${id}/commands`, { body })
    expect(said.at('stdout')).toBe('kept\n')
    expect(containersOf(other.installation)).toEqual(others)
  })

  it.each([
    ['on docker alone', ['--backend', 'docker'], {}],
    ['on docker among others', ['--backend', 'bwrap', '--backend', 'docker'], { backend: 'docker' }],
  ] as const)('and that lost its state are ended by the next one on its data (%s), and no others', async (...row) => {
    const [, flags, more] = row
    const other = await start()
    await begin(other)
    const others = containersOf(other.installation)
    const first = await start(undefined, { flags })
    await abandoned(first, more)
    looseState(first)

    const next = await start(first.place, { flags })
    expect(next.installation).toBe(first.installation)
    await expect.poll(() => containersOf(next.installation)).toEqual([])
    expect((await next.server.call('GET', '/sandboxes')).at('items')).toEqual([])
    expect(containersOf(other.installation)).toEqual(others)
    await next.server.stop()
    await expect.poll(() => survivors(first.place.place)).toEqual([])
  })

  it('and that lost its state and its data are nobody’s to end: the operator finds them by their label', async () => {
    const first = await start()
    await abandoned(first)
    looseState(first)
    rmSync(join(first.place.place, 'data'), { recursive: true })
    const next = await start(first.place)
    expect(next.installation).not.toBe(first.installation)
    const mine = await begin(next)
    await expect.poll(() => containersOf(next.installation).length).toBe(1)
    expect(containersOf(first.installation)).toHaveLength(live)

    // As docs/backends/docker.md has it: which installations there are, and all of one that is gone.
    const all = docker('ps', '--all', '--filter', 'label=dev.glovebox.installation', '--format', installationFormat)
    expect(all.split('\n')).toEqual(expect.arrayContaining([first.installation, next.installation]))
    await removeContainers(containersOf(first.installation))
    expect(containersOf(next.installation)).toHaveLength(1)
    expect((await next.server.call('GET', `/sandboxes/${mine}`)).status).toBe(200)
  })

  it('that the daemon makes only when the next one has begun are ended, too', async () => {
    const { installation } = await start()
    const owner = '4194303.1.00000000-0000-0000-0000-000000000000.1'
    const labels = { installation, sandbox: `sbx_${'0'.repeat(32)}`, owner }
    const words = Object.entries(labels).flatMap(([name, value]) => ['--label', `dev.glovebox.${name}=${value}`])
    // As one that a killed docker had asked for.
    expect(docker('create', '--network=none', ...words, '--', 'glovebox/sandbox:latest')).toMatch(/^[0-9a-f]{64}$/)
    await expect.poll(() => containersOf(installation)).toEqual([])
  })
})

const installationFormat = '{{.Label "dev.glovebox.installation"}}'
