// A server begins while another one lives and has a command in a container. What it sweeps away at its start is what is nobody's: neither
// that container nor what is kept of it, whether it shares database and workspace with the first one, only its state, or only the daemon.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { makePlace, shell, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { containersAt, dockerHasImage, execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { ended, letGo, serversOn, textOf, until, untilGo } from './lasting-execs.ts'

const image = 'glovebox/sandbox:latest'
/** Longer than all that is looked at meanwhile. */
const policy_overrides = { timeout_ms: 300_000 }
const target = execTarget('docker')
const flags = target.options.flags ?? []
const isHere = dockerHasImage(image) && whyNoPostgres === undefined
const docker = (...args: readonly string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim()

/** Spools of nobody's, which a server removes at its start, when it has ended the containers of nobody's. */
function plantSpools(place: string): () => boolean {
  const planted = ['0', '7', 'f'].map((digit) => join(spoolsAt(place), `sbx_${digit.repeat(32)}`))
  for (const each of planted) mkdirSync(each, { recursive: true, mode: 0o700 })
  return () => planted.every((each) => !existsSync(each))
}

/** Beside that one, a container of the same workspace whose maker nobody knows, and which no exec names. */
function plantContainer(beside: string): string {
  const workspace = docker('inspect', '--format', '{{index .Config.Labels "dev.glovebox.lasting"}}', '--', beside)
  const labels = [`lasting=${workspace}`, `sandbox=sbx_${'5'.repeat(32)}`].flatMap((each) => [
    '--label',
    `dev.glovebox.${each}`,
  ])
  return docker('run', '-d', '--rm', '--network', 'none', ...labels, '--', image, 'sleep', '120')
}

/** The container of its only exec and what is kept of that: when the container began, and every file by its number. */
function ownOf(server: ExecServer): unknown {
  const [container = '', ...more] = containersAt(server.place)
  const [spool = '', ...others] = spoolsIn(spoolsAt(server.place)).filter((name) => !/^sbx_(.)\1{31}$/.test(name))
  const directory = join(spoolsAt(server.place), spool)
  return {
    counts: [more.length, others.length],
    container,
    began: docker('inspect', '--format', '{{.State.StartedAt}} {{.State.Pid}} {{.State.Running}}', '--', container),
    files: readdirSync(directory)
      .toSorted()
      .map((name) => [name, statSync(join(directory, name)).ino]),
  }
}

describe.skipIf(!isHere && !(isRequired('docker') && isRequired('postgres')))(
  'a server that begins while another one has a command in a container',
  () => {
    const start = serversOn(target)
    let cluster: Cluster
    beforeAll(() => (cluster = startCluster()))
    afterAll(() => cluster.remove())

    it('touches neither the container nor what is kept of it, and its own leftovers are gone', async () => {
      const env = { DATABASE_URL: cluster.createDatabase() }
      const place = makePlace()
      const isFirstClean = plantSpools(place)
      const first = await start({ place, env })
      // Its own sweep is over, so that what is planted now is another one's to find.
      await until(isFirstClean)
      const exec = await first.begin(shell(`echo begun; ${untilGo}; echo finished; exit 7`, { policy_overrides }))
      await until(() => existsSync(join(first.workspace, exec.stdout_path)) && textOf(first, exec.stdout_path) !== '')
      const planted = plantContainer(containersAt(place)[0] ?? '')
      const isRunning = (): boolean => docker('ps', '-q', '--no-trunc', '--filter', `id=${planted}`) !== ''
      try {
        const before = ownOf(first)
        expect(before).toMatchObject({ counts: [0, 0], began: expect.stringMatching(/ true$/) })

        // On the same daemon alone; and with the state of the first, but with a database and a workspace of its own.
        const [strangers, sharing] = [makePlace(), makePlace()]
        rmdirSync(join(sharing, 'state'))
        symlinkSync(join(place, 'state'), join(sharing, 'state'))
        for (const [other, url] of [
          [strangers, cluster.createDatabase()],
          [sharing, `sqlite:${join(sharing, 'own.db')}`],
        ] as const) {
          const isClean = plantSpools(other)
          await start({ place: other, env: { DATABASE_URL: url } })
          await until(isClean)
          expect(ownOf(first)).toEqual(before)
          // Not even what is nobody's: it lies in the first one's workspace.
          expect(isRunning()).toBe(true)
        }

        const isClean = plantSpools(place)
        const data = join(place, 'data')
        const second = await start({ env, token: first.token, flags: [...flags, '--data', data] })
        await until(isClean)
        // Control: this one sweeps containers, too, and this workspace.
        await until(() => !isRunning())
        expect(ownOf(first)).toEqual(before)
        expect(await second.get(exec.exec_id)).toMatchObject({ status: 'RUNNING' })
        letGo(first)
        expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
        expect(textOf(first, exec.stdout_path)).toBe('begun\nfinished\n')
        await until(() => containersAt(place).length === 0 && spoolsIn(spoolsAt(place)).length === 0)
      } finally {
        if (isRunning()) docker('rm', '-f', '--', planted)
      }
    })
  },
)
