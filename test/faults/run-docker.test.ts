// kill -9 of whoever has a run in a container at work, alone or with everything that it started, as a service manager does. A run ends with
// its process, on every backend: whoever opens it next finds it lost, with the reason, and takes away what is left of it.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { eventsOf, makeRunGround, recordOf, type RunGround } from '../e2e/run-ground.ts'
import { codeOf, startServer, type ServerGround } from '../e2e/server-ground.ts'
import { makeServerPlace, type ServerPlace } from '../fixtures/server-place.ts'
import { busyboxImage, containersAt, dockerHasImage, dockerHasRuntime, execTarget, runscImage } from './exec-targets.ts'
import { survivors } from './killed-exec-server.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'
import { killWithAllBelow } from './process-tree.ts'
import { entriesBelow } from './traces.ts'

const targets = [
  { name: 'docker', isHere: dockerHasImage('glovebox/sandbox:latest') },
  { name: 'docker-runsc', isHere: dockerHasImage(runscImage) && dockerHasRuntime('runsc') },
]

/** It works until it is ended, and has something to show for it. */
const command = ['sh', '-c', 'echo kept > /deliverables/kept; echo begun > begun; sleep 600']
const isAtWork = (directory: string): boolean => existsSync(join(directory, 'workspace/begun'))

type Way = readonly [string, (pid: number) => void]
const ways: readonly Way[] = [
  ['alone', (pid) => void process.kill(pid, 'SIGKILL')],
  ['with all that it started', (pid) => void killWithAllBelow(pid)],
]

/** One end, told truly; what the guest made is there and listed, and nothing else is. */
function expectEnded(directory: string, status: 'failed' | 'lost', made: readonly string[]): void {
  expect(recordOf(directory)).toMatchObject({ status, failure_reason: 'server_crash' })
  const ends = eventsOf(directory).flatMap(({ type }, index) => (type === 'run_ended' ? [index] : []))
  expect(ends).toEqual([eventsOf(directory).length - 1])
  for (const tree of ['deliverables', 'workspace'])
    expect(readdirSync(join(directory, tree)).map((name) => `${tree}/${name}`)).toEqual(
      made.filter((path) => path.startsWith(tree)),
    )
  const { complete, entries } = JSON.parse(readFileSync(join(directory, 'artifact-manifest.json'), 'utf8')) as {
    readonly complete: boolean
    readonly entries: readonly { readonly path: string }[]
  }
  expect([complete, entries.map(({ path }) => path)]).toEqual([true, made])
}

const allMade = ['deliverables/kept', 'workspace/begun']

/** What grows with use and is meant to stay: the records of what was done. */
const isRecord = (name: string): boolean => /^(?:audit|glovebox\.db)/.test(name)
const keptBelow = (state: string): readonly string[] => entriesBelow(state).filter((name) => !isRecord(name))

describe.each(targets)('a run on $name', ({ name, isHere }) => {
  const { settings = 'backend: docker\n' } = execTarget(name).options

  describe.skipIf(!isHere && !isRequired(name))('of a server that is killed', () => {
    let ground: ServerPlace
    const servers: ServerGround[] = []
    beforeEach(() => void (ground = makeServerPlace(settings)))
    afterEach(async () => {
      for (const { server } of servers.splice(0)) {
        server.child.kill('SIGKILL')
        await server.finished
      }
      execTarget(name).clear(ground.place)
      ground.remove()
    })
    const start = async (token?: string): Promise<ServerGround> => {
      const flags = ['--backend', 'docker']
      const { place } = ground
      const server = await startServer({ place, flags, ...(token === undefined ? {} : { token }) })
      servers.push(server)
      return server
    }
    const begin = async (server: ServerGround, argv: readonly string[]): Promise<string> => {
      const made = await server.call('POST', '/runs', { body: { prompt: 'x', command: argv } })
      if (made.status !== 201) throw new Error(made.text)
      return String(made.at('run_id'))
    }

    it.each(ways)('%s is lost, and neither container, process nor directory of it is left', async (_way, kill) => {
      const { place } = ground
      const undisturbed = await start()
      const first = await begin(undisturbed, ['true'])
      await expect
        .poll(async () => (await undisturbed.call('GET', `/runs/${first}`)).at('record.status'))
        .toBe('completed')
      await undisturbed.stop()
      const clean = keptBelow(undisturbed.state)

      const doomed = await start(undisturbed.token)
      const runId = await begin(doomed, command)
      const directory = join(doomed.data, 'runs/default', runId)
      await expect.poll(() => isAtWork(directory)).toBe(true)
      expect(containersAt(place), 'the control: there is something to leave').toHaveLength(1)
      kill(doomed.server.child.pid ?? 0)
      await doomed.server.finished

      const next = await start(undisturbed.token)
      // It is ended before anybody is let in.
      const shown = await next.call('GET', `/runs/${runId}`)
      expect([shown.at('record.status'), shown.at('record.failure_reason')]).toEqual(['lost', 'server_crash'])
      expect([shown.at('integrity'), shown.at('crashed')]).toEqual(['intact', false])
      expectEnded(directory, 'lost', allMade)
      expect((await next.call('GET', `/runs/${runId}/artifacts/deliverables/kept`)).text).toBe('kept\n')
      expect(codeOf(await next.call('POST', `/runs/${runId}/cancel`))).toBe('RUN_ENDED')
      await expect.poll(() => containersAt(place)).toEqual([])
      await next.stop()
      expect((await next.glovebox(['runs', 'verify', directory])).code).toBe(0)
      await expect.poll(() => survivors(place)).toEqual([])
      expect(keptBelow(next.state)).toEqual(clean)
    })
  })

  describe.skipIf(!isHere && !isRequired(name))('of a command line that is killed', () => {
    let ground: RunGround
    beforeEach(() => {
      ground = makeRunGround()
      ground.settings(settings)
    })
    afterEach(() => {
      execTarget(name).clear(ground.outside)
      ground.remove()
    })
    const start = (run: string) =>
      ground.start(['run', '--prompt', 'x', '--sandbox', `runs/${run}`, '--backend', 'docker', '--', ...command])
    const hasInstallation = (): boolean => existsSync(join(ground.outside, 'state/docker/installation'))

    it.each(ways)('%s is lost for whoever recovers it, and nothing of it is left', async (_way, kill) => {
      expect((await ground.shell('first', 'true', '--backend', 'docker')).code).toBe(0)
      await expect.poll(() => containersAt(ground.outside)).toEqual([])
      const clean = keptBelow(join(ground.outside, 'state'))
      const directory = ground.place('doomed')
      const { child, finished } = start('doomed')
      await expect.poll(() => isAtWork(directory)).toBe(true)
      expect(containersAt(ground.outside), 'the control: there is something to leave').toHaveLength(1)
      kill(child.pid ?? 0)
      await finished
      const recovered = await ground.glovebox(['runs', 'recover'])
      expect(recovered.code, recovered.stderr).toBe(0)
      expectEnded(directory, 'lost', allMade)
      expect((await ground.glovebox(['runs', 'verify', 'doomed'])).code).toBe(0)
      await expect.poll(() => containersAt(ground.outside)).toEqual([])
      await expect.poll(() => survivors(ground.outside)).toEqual([])
      expect(keptBelow(join(ground.outside, 'state'))).toEqual(clean)
    })

    it('while its container is being made has failed, and nothing of it is left', async () => {
      const directory = ground.place('doomed')
      const { child, finished } = start('doomed')
      await expect.poll(() => hasInstallation() && containersAt(ground.outside).length, { interval: 2 }).toBe(1)
      killWithAllBelow(child.pid ?? 0)
      await finished
      const recovered = await ground.glovebox(['runs', 'recover'])
      expect(recovered.code, recovered.stderr).toBe(0)
      // On a busy machine it may have come further before its turn to be killed.
      const hasBegun = eventsOf(directory).some(({ data }) => data['to'] === 'running')
      const made = allMade.filter((path) => existsSync(join(directory, path)))
      expectEnded(directory, hasBegun ? 'lost' : 'failed', made)
      expect((await ground.glovebox(['runs', 'verify', 'doomed'])).code).toBe(0)
      expect(containersAt(ground.outside)).toEqual([])
      expect(entriesBelow(join(ground.outside, 'state/docker/scratch'))).toEqual([])
      expect(entriesBelow(join(ground.outside, 'state/placeholders'))).toEqual([])
    })
  })
})

describe.skipIf(reasonWithout(busyboxImage) !== undefined && !isRequired('dockerd'))(
  'a run whose image is another one than the usual',
  () => {
    let daemon: PrivateDockerd
    let ground: RunGround
    beforeAll(async () => {
      daemon = await privateDockerd([busyboxImage])
    })
    afterAll(() => daemon.remove())
    beforeEach(() => void (ground = makeRunGround()))
    afterEach(() => ground.remove())

    it('is recovered, with all that is left of it, where there is no other image', async () => {
      ground.settings(`docker:\n  image: ${busyboxImage}\n`)
      const env = { DOCKER_HOST: daemon.host }
      const argv = ['run', '--prompt', 'x', '--sandbox', 'runs/doomed', '--backend', 'docker', '--', ...command]
      const { child, finished } = ground.start(argv, { env })
      await expect.poll(() => isAtWork(ground.place('doomed'))).toBe(true)
      killWithAllBelow(child.pid ?? 0)
      await finished
      expect(daemon.docker('ps', '-q'), 'the control: it goes on').not.toBe('')
      const recovered = await ground.glovebox(['runs', 'recover'], { env })
      expect(recovered.code, recovered.stderr).toBe(0)
      expectEnded(ground.place('doomed'), 'lost', allMade)
      expect((await ground.glovebox(['runs', 'verify', 'doomed'])).code).toBe(0)
      expect(daemon.docker('ps', '-aq')).toBe('')
    })
  },
)
