// What goes on without its server lies beside the execs themselves: whoever shares those finds it again, wherever its own state is, and
// whoever shares only the state leaves it alone.
import { existsSync, mkdirSync, readdirSync, rmdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { makePlace, shell, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { containersAt, dockerHasImage, execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { ended, letGo, serversOn, textOf, until, untilGo } from './lasting-execs.ts'

const target = execTarget('docker')
const flags = target.options.flags ?? []
const isHere = dockerHasImage('glovebox/sandbox:latest')
const waiting = {
  project_id: 'demo',
  // With a variable, so that no other server can begin it.
  exec: { kind: 'shell', command: `echo begun; ${untilGo}; echo finished; exit 7`, env: { OWN: 'value' } },
}
const hasBegun = (server: ExecServer, { stdout_path }: { readonly stdout_path: string }): boolean =>
  existsSync(join(server.workspace, stdout_path)) && textOf(server, stdout_path) === 'begun\n'
/** A name that an operator adds stands in the workspace for as long as the command runs, and is in a journal of the state. */
const settings = 'policy:\n  protect: [.added]\n'

describe.skipIf(!isHere && !isRequired('docker'))('execs in containers of servers with other states', () => {
  const start = serversOn(target)

  it('are left alone, when their server is killed, by one that shares its state and not its workspace', async () => {
    const [place, firstPlace] = [makePlace(), makePlace()]
    rmdirSync(join(firstPlace, 'state'))
    symlinkSync(join(place, 'state'), join(firstPlace, 'state'))
    const first = await start({ place: firstPlace })
    const exec = await first.begin(waiting)
    await until(() => hasBegun(first, exec))
    await first.kill()
    const [container = ''] = containersAt(first.place)

    // Which its first sweep takes away, after it has looked for containers.
    const leftover = join(spoolsAt(place), `sbx_${'0'.repeat(32)}`)
    mkdirSync(leftover, { recursive: true, mode: 0o700 })
    const stranger = await start({ place, env: { DATABASE_URL: `sqlite:${join(place, 'own.db')}` } })
    await until(() => !existsSync(leftover))
    expect((await stranger.exec(shell('exit 3'))).exit_code).toBe(3)
    expect(containersAt(first.place)).toContain(container)

    const second = await start({ place: first.place })
    letGo(second)
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    expect(textOf(second, exec.stdout_path)).toBe('begun\nfinished\n')
  })

  describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('on one PostgreSQL and one workspace', () => {
    let cluster: Cluster
    beforeAll(() => (cluster = startCluster()))
    afterAll(() => cluster.remove())

    it('go on under the other when theirs is killed, and have their true end', async () => {
      const env = { DATABASE_URL: cluster.createDatabase() }
      const one = await start({ env, settings })
      const data = join(one.place, 'data')
      const other = await start({ env, settings, token: one.token, flags: [...flags, '--data', data] })
      const exec = await one.begin(waiting)
      const shared = { ...other, workspace: one.workspace }
      const work = join(one.workspace, 'projects/demo/work')
      await until(() => hasBegun(shared, exec))
      expect(readdirSync(work)).toContain('.added')
      await one.kill()
      const running = async (): Promise<unknown> => (await other.ask('GET', '/sandbox/health')).json
      await expect.poll(running, { timeout: 60_000 }).toMatchObject({ execs: { running: 1 } })
      letGo(shared)
      expect(await other.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
      expect(textOf(shared, exec.stdout_path)).toBe('begun\nfinished\n')
      await until(() => containersAt(one.place).length === 0 && spoolsIn(spoolsAt(one.place)).length === 0)
      expect(readdirSync(work).toSorted()).toEqual(['.glovebox', 'glovebox.yaml', 'go'])
    })
  })
})
