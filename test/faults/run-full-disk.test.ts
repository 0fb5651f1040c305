// Real runs on a disk that fills up under them: by the command line and through a server, on a small filesystem in a mount namespace of its
// own.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { glovebox as program } from '../e2e/command-line.ts'
import { eventsOf, makeRunGround, recordOf, type RunGround } from '../e2e/run-ground.ts'
import { codeOf, startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { makeServerPlace, type ServerPlace } from '../fixtures/server-place.ts'
import { survivors } from './killed-exec-server.ts'

const isRoot = process.getuid?.() === 0
const namespace = ['unshare', '-m', '--propagation', 'private'] as const

/** It takes all room, shows itself where `go` tells it to, and never ends of itself: each line that it says goes into the transcript, too. */
const filling =
  'head -c 100m /dev/zero > fill 2>/dev/null; while [ ! -e go ]; do sleep 0.05; done; yes words; sleep 600'

/** Of the disk on which this lies: to the last block. */
function takeRest(directory: string): void {
  try {
    for (;;) appendFileSync(join(directory, 'rest'), 'x'.repeat(4096))
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  }
}

/** As the run's own process sees it. `by`: any process of that namespace. */
const within = (by: number | undefined, path: string): string => join('/proc', String(by), 'root', path)

/** The guest has taken all there is, and the room for the last event is kept all the same. */
async function expectFull(directory: string): Promise<void> {
  await expect.poll(() => existsSync(join(directory, 'workspace/fill')) && statfsSync(directory).bavail).toBe(0)
  expect(statSync(join(directory, 'logs/reserve')).size).toBe(64 * 1024)
}

function expectEnded(directory: string): void {
  expect(recordOf(directory)).toMatchObject({ status: 'failed', failure_reason: 'disk_full' })
  const events = eventsOf(directory)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(events.flatMap(({ type }, index) => (type === 'run_ended' ? [index] : []))).toEqual([events.length - 1])
  expect(events.at(-1)?.data).toMatchObject({ to: 'failed', reason: 'disk_full' })
  expect(existsSync(join(directory, 'logs/reserve')), 'the room was given up').toBe(false)
}

describe.skipIf(!isRoot)('`glovebox run` on a disk that fills up [needs root]', () => {
  let ground: RunGround
  let holder: ChildProcess
  beforeEach(async () => {
    ground = makeRunGround()
    mkdirSync(join(ground.directory, 'runs'))
    const mount = 'mount -t tmpfs -o size=2m none "$0" && echo mounted && read -r never'
    const [unshare, ...words] = [...namespace, 'sh', '-c', mount, join(ground.directory, 'runs')]
    holder = spawn(unshare, words, { stdio: ['pipe', 'pipe', 'inherit'] })
    await new Promise((resolve) => holder.stdout?.once('data', resolve))
  })
  afterEach(() => {
    holder.kill('SIGKILL')
    ground.remove()
  })
  /** Where it begins was opened outside of the namespace, so it goes there once more. */
  const through = (): readonly string[] => {
    const enter = ['nsenter', '--mount', '--target', String(holder.pid), 'sh', '-c', 'cd "$0" && exec "$@"']
    return [...enter, ground.directory]
  }
  const place = (run: string): string => within(holder.pid, ground.place(run))
  const glovebox = (...argv: readonly string[]) => ground.glovebox(argv, { through: through() })
  const started = (run: string, script: string) =>
    ground.start(['run', '--prompt', 'x', '--sandbox', `runs/${run}`, '--', 'sh', '-c', script], { through: through() })

  it('ends as failed (disk_full): its process is stopped, its end is recorded, and what is there is read', async () => {
    expect((await started('before', 'echo done > /deliverables/done').finished).code).toBe(0)
    const { finished } = started('full', filling)
    await expectFull(place('full'))
    // With nothing in it, it takes no room.
    writeFileSync(join(place('full'), 'workspace/go'), '')
    const { code, stderr } = await finished
    expect(code).toBe(125)
    expect(stderr).toMatch(/Cannot .*: no space is left/)
    expect(stderr).toContain('The run failed (disk_full)')
    expectEnded(place('full'))
    await expect.poll(() => survivors(ground.place('full'))).toEqual([])

    takeRest(place('full'))
    for (const run of ['before', 'full']) {
      expect(await glovebox('runs', 'verify', run)).toMatchObject({ code: 0 })
      expect(await glovebox('runs', 'show', run)).toMatchObject({ code: 0 })
      expect(await glovebox('runs', 'events', run)).toMatchObject({ code: 0 })
    }
    const listed = await glovebox('runs', 'list')
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/disk_full|failed/)])
    const refused = await started('next', 'true').finished
    expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining('Cannot create the run: no space')])
    expect(existsSync(place('next'))).toBe(false)
    // The control: with room again there is another run.
    rmSync(join(place('full'), 'workspace/fill'))
    expect((await started('next', 'true').finished).code).toBe(0)
  })

  it('that only its end meets, since it said nothing, has the same reason', async () => {
    const { finished } = started('quiet', 'head -c 100m /dev/zero > fill 2>/dev/null; exit 0')
    expect((await finished).code).toBe(125)
    expectEnded(place('quiet'))
    expect(await glovebox('runs', 'verify', 'quiet')).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!isRoot)('a disk that is full by the time that a run begins [needs root]', () => {
  let ground: RunGround
  beforeEach(() => void (ground = makeRunGround()))
  afterEach(() => ground.remove())

  /** Of tmpfs a page each: from where no run can be made to where it comes to a good end. */
  const disks = [
    ['of the runs alone', 'state', '80 4 200'],
    ['of everything', 'project/runs/.state', '400 8 760'],
  ] as const

  it.each(disks)('%s, is what the run failed of at whatever step it is met, or none is begun', (_of, state, sizes) => {
    const script = [
      'cd "$0"; mkdir -p runs',
      `for kib in $(seq ${sizes}); do`,
      '  mount -t tmpfs -o size=${kib}k none runs || exit 9',
      '  mkdir -p -m 700 "$GLOVEBOX_STATE_DIR"',
      '  "$@" run --json --prompt x --sandbox runs/one -- sh -c "echo work > made; echo said" >out 2>err; code=$?',
      '  verified=none',
      '  if [ -e runs/one ]; then "$@" runs verify one >/dev/null 2>&1; verified=$?; fi',
      '  reason=$(sed -n "s/^  .failure_reason.: \\(.*\\),$/\\1/p" runs/one/run.json 2>/dev/null)',
      '  others=$(ls -A runs | grep -cvx "one\\|.state")',
      // Stand-ins for protected names are taken away by a lock and a journal, which need room, too.
      '  stand_ins=$(ls -A runs/one/workspace runs/one/deliverables 2>/dev/null | grep -cvx "made\\|runs.*\\|")',
      '  echo "$code $verified $reason $others $stand_ins"',
      '  umount runs',
      'done',
    ].join('\n')
    const [unshare, ...words] = [...namespace, 'sh', '-c', script, ground.directory, process.execPath, program]
    const env = { ...process.env, GLOVEBOX_STATE_DIR: join(ground.outside, state) }
    const told = execFileSync(unshare, words, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] })
    const ends = told.trimEnd().split('\n')
    const [notBegun, failed, completed] = ['125 none  0 0', '125 0 "disk_full" 0 0', '0 0 null 0 0']
    expect(new Set(ends)).toEqual(new Set([notBegun, failed, completed]))
    // The control: it was met at several steps.
    expect([ends.at(0), ends.at(-1)]).toEqual([notBegun, completed])
    expect(ends.filter((end) => end === failed).length).toBeGreaterThan(5)
  })
})

describe.skipIf(!isRoot)('a server whose runs lie on a disk that fills up [needs root]', () => {
  let place: ServerPlace
  let ground: ServerGround
  beforeAll(async () => {
    place = makeServerPlace()
    const runs = join(place.place, 'data/runs')
    mkdirSync(runs, { recursive: true, mode: 0o700 })
    const mount = 'mount -t tmpfs -o size=2m,mode=700 none "$0" && exec "$@"'
    // In a mount namespace of its own: nobody else sees it, and it goes with the server.
    ground = await startServer({ place: place.place, through: [...namespace, 'sh', '-c', mount, runs] })
  })
  afterAll(async () => {
    await ground.stop()
    place.remove()
  })
  const directoryOf = (runId: string): string =>
    within(ground.server.child.pid, join(ground.data, 'runs/default', runId))
  const begin = (script: string): Promise<Answered> =>
    ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sh', '-c', script] } })
  const endOf = async (runId: string): Promise<unknown> =>
    (await ground.call('GET', `/runs/${runId}`)).at('record.failure_reason')

  it('ends the run as failed (disk_full), answers 507 to a new one, and goes on reading', async () => {
    const before = String((await begin('echo done > /deliverables/done')).at('run_id'))
    await expect.poll(async () => (await ground.call('GET', `/runs/${before}`)).at('record.status')).toBe('completed')
    const runId = String((await begin(filling)).at('run_id'))
    await expectFull(directoryOf(runId))
    writeFileSync(join(directoryOf(runId), 'workspace/go'), '')
    await expect.poll(() => endOf(runId)).toBe('disk_full')
    expectEnded(directoryOf(runId))
    await expect.poll(() => survivors(join(ground.data, 'runs/default', runId))).toEqual([])

    takeRest(directoryOf(runId))
    const refused = await begin('true')
    expect([refused.status, codeOf(refused)]).toEqual([507, 'NO_SPACE'])
    expect(refused.text).not.toContain(ground.data)
    for (const each of [before, runId]) {
      const shown = await ground.call('GET', `/runs/${each}`)
      expect([shown.status, shown.at('integrity'), shown.at('crashed')]).toEqual([200, 'intact', false])
      expect((await ground.call('GET', `/runs/${each}/events`)).status).toBe(200)
      expect((await ground.call('GET', `/runs/${each}/artifacts`)).status).toBe(200)
    }
    expect((await ground.call('GET', `/runs/${before}/artifacts/deliverables/done`)).text).toBe('done\n')
    expect((await ground.call('GET', '/runs')).at('items')).toHaveLength(2)
    expect((await ground.call('GET', '/readyz')).status).toBe(200)

    // The control: with room again the same run is made.
    rmSync(join(directoryOf(runId), 'workspace/fill'))
    const next = await begin('true')
    expect(next.status).toBe(201)
    await expect
      .poll(async () => (await ground.call('GET', `/runs/${String(next.at('run_id'))}`)).at('record.status'))
      .toBe('completed')
  })
})
