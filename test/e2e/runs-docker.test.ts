// Runs whose sandbox is a container, by the command line and through a server: delivered, recorded and verified as on any backend.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ArtifactManifest, SandboxManifest } from '../../src/contract/artifact.ts'
import type { ChangeSet } from '../../src/contract/recorded-action.ts'
import { isRequired } from '../conformance/required.ts'
import { containersAt, dockerHasImage, dockerHasRuntime, execTarget, runscImage } from '../faults/exec-targets.ts'
import { makeServerPlace, type ServerPlace } from '../fixtures/server-place.ts'
import { eventsOf, makeRunGround, recordOf, type RunGround } from './run-ground.ts'
import { startServer, type ServerGround } from './server-ground.ts'
import { waitForRun } from './server-objects.ts'

const targets = [
  { name: 'docker', isHere: dockerHasImage('glovebox/sandbox:latest') },
  { name: 'docker-runsc', isHere: dockerHasImage(runscImage) && dockerHasRuntime('runsc') },
]

const script = [
  'cp "$GLOVEBOX_PROMPT_FILE" /deliverables/report.txt',
  'mkdir made',
  'echo work > made/notes',
  'test -e /.dockerenv -o -e /.glovebox/rg && id -u',
].join('; ')

const jsonIn = (directory: string, name: string): unknown => JSON.parse(readFileSync(join(directory, name), 'utf8'))

/** What of it lies in its directory, and says how it went. */
function expectRecorded(directory: string): void {
  expect(recordOf(directory)).toMatchObject({ status: 'completed', failure_reason: null })
  expect((jsonIn(directory, 'sandbox-manifest.json') as SandboxManifest).backend).toBe('docker')
  // No stand-in for a protected name is left, neither on the disk nor in what is told of it.
  expect(readdirSync(join(directory, 'workspace'))).toEqual(['made'])
  const { complete, entries } = jsonIn(directory, 'artifact-manifest.json') as ArtifactManifest
  expect([complete, entries.map(({ path, size }) => `${path} ${size}`)]).toEqual([
    true,
    ['deliverables/report.txt 6', 'workspace/made null', 'workspace/made/notes 5'],
  ])
  const changed = (jsonIn(directory, 'logs/actions/000001/changes.json') as ChangeSet).changes
  expect(changed.map(({ path, change }) => `${change} ${path}`)).toEqual([
    'created deliverables/report.txt',
    'created workspace/made',
    'created workspace/made/notes',
  ])
  const ended = eventsOf(directory).find(({ type }) => type === 'action_ended')
  expect(ended?.data).toMatchObject({ ended: { by: 'exit', code: 0 }, changes: changed.length })
}

describe.each(targets)('a run on $name', ({ name, isHere }) => {
  const required = isRequired(name)
  const { settings = 'backend: docker\n' } = execTarget(name).options

  describe.skipIf(!isHere && !required)('by the command line', () => {
    let ground: RunGround
    beforeAll(() => void (ground = makeRunGround()))
    afterAll(() => ground.remove())

    it('is delivered, recorded with its changes and verified, and leaves no container', async () => {
      ground.settings(`${settings}deliverables: [report.txt]\n`)
      const done = await ground.shell('made', script, '--backend', 'docker')
      const uid = process.getuid?.() === 0 ? 1000 : process.getuid?.()
      expect(done, done.stderr).toMatchObject({ code: 0, stdout: `${uid}\n` })
      expect(done.stderr).toContain('deliverables/report.txt')
      expectRecorded(ground.place('made'))
      expect(await ground.glovebox(['runs', 'verify', 'made'])).toMatchObject({ code: 0 })
      await expect.poll(() => containersAt(ground.outside)).toEqual([])
    })

    it('that owes a deliverable, is over its time or ends badly says so', async () => {
      ground.settings(`${settings}deliverables: [report.txt]\n`)
      const reasons = [
        ['owing', 'true', 'deliverable_missing', '5m'],
        ['broken', 'exit 3', 'exit_nonzero', '5m'],
        ['slow', 'sleep 600', 'timeout', '1s'],
      ] as const
      for (const [run, does, reason, within] of reasons) {
        const { code } = await ground.shell(run, does, '--backend', 'docker', '--timeout', within)
        expect([run, code === 0, recordOf(ground.place(run)).failure_reason]).toEqual([run, false, reason])
        expect(await ground.glovebox(['runs', 'verify', run])).toMatchObject({ code: 0 })
      }
      await expect.poll(() => containersAt(ground.outside)).toEqual([])
    })

    it('is forked with its files, and the fork is verified, too', async () => {
      ground.settings(settings)
      const begin = await ground.shell('origin', 'mkdir d; echo one > d/f', '--backend', 'docker')
      expect(begin.code, begin.stderr).toBe(0)
      const flags = ['--backend', 'docker', '--start', '--', 'sh', '-c', 'echo two >> d/f; cat d/f']
      const forked = await ground.glovebox(['runs', 'fork', 'origin', '--sandbox', 'runs/copy', ...flags])
      expect(forked, forked.stderr).toMatchObject({ code: 0, stdout: 'one\ntwo\n' })
      expect(await ground.glovebox(['runs', 'verify', 'copy'])).toMatchObject({ code: 0 })
      expect(readFileSync(join(ground.place('origin'), 'workspace/d/f'), 'utf8')).toBe('one\n')
    })

    it('is repeated by a replay, to the byte', async () => {
      ground.settings(settings)
      const begin = await ground.shell('first', 'echo one | tee /deliverables/f', '--backend', 'docker')
      expect(begin.code, begin.stderr).toBe(0)
      const replayed = await ground.glovebox(['runs', 'replay', 'first'])
      expect(replayed.code, `${replayed.stdout}${replayed.stderr}`).toBe(0)
    })
  })

  describe.skipIf(!isHere && !required)('through a server', () => {
    let place: ServerPlace
    let ground: ServerGround
    beforeAll(async () => {
      place = makeServerPlace(settings)
      ground = await startServer({ place: place.place, flags: ['--backend', 'docker'] })
    })
    afterAll(async () => {
      await ground.stop()
      place.remove()
    })

    it('is delivered, recorded with its changes and verified, and leaves no container', async () => {
      const body = { prompt: 'Do it.', command: ['sh', '-c', script], deliverables: ['report.txt'] }
      const made = await ground.call('POST', '/runs', { body })
      expect(made.status, made.text).toBe(201)
      const runId = String(made.at('run_id'))
      await waitForRun(ground, runId, 'completed')
      expectRecorded(join(ground.data, 'runs/default', runId))
      const shown = await ground.call('GET', `/runs/${runId}`)
      expect([shown.at('integrity'), shown.at('crashed'), shown.at('deliverables.0.path')]).toEqual([
        'intact',
        false,
        'report.txt',
      ])
      expect((await ground.call('GET', `/runs/${runId}/artifacts/deliverables/report.txt`)).text).toBe('Do it.')
      const verified = await ground.glovebox(['runs', 'verify', join(ground.data, 'runs/default', runId)])
      expect(verified.code, verified.stdout).toBe(0)
      await expect.poll(() => containersAt(place.place)).toEqual([])
    })

    it('is cancelled, and its container is gone with it', async () => {
      const made = await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sleep', '600'] } })
      const runId = String(made.at('run_id'))
      await waitForRun(ground, runId, 'running')
      // The control: there is one.
      await expect.poll(() => containersAt(place.place).length).toBe(1)
      expect((await ground.call('POST', `/runs/${runId}/cancel`)).at('status')).toBe('cancelled')
      await expect.poll(() => containersAt(place.place)).toEqual([])
    })
  })
})
