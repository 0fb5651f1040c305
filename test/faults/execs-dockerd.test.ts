// The Docker daemon is killed and started again under execs that run: each has its true end or is LOST, and none is guessed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const missing = reasonWithout()

describe.skipIf(missing !== undefined && !isRequired('dockerd'))('execs under a daemon that is killed', () => {
  let daemon: PrivateDockerd
  let server: ExecServer
  beforeAll(async () => {
    daemon = await privateDockerd()
    server = await startExecServer({ flags: ['--backend', 'docker'], env: { DOCKER_HOST: daemon.host } })
  }, 120_000)
  afterAll(async () => {
    await server.stop()
    server.remove()
    await daemon.remove()
  }, 60_000)

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    '%s: the true end or LOST, never a guess; and the next exec runs',
    async (signal) => {
      const done = await server.exec(shell('echo before; exit 3'))
      expect(done).toMatchObject({ status: 'FAILED', exit_code: 3 })
      const long = await server.begin(shell('echo begun; sleep 300'))
      const short = await server.begin(shell('echo begun; sleep 1; echo over; exit 7'))
      for (const { stdout_path } of [long, short])
        await until(() => readFileSync(join(server.workspace, stdout_path), 'utf8').includes('begun'))
      await daemon.kill(signal)
      await new Promise((resolve) => setTimeout(resolve, 2000))
      await daemon.start()
      const ends = await Promise.all(
        [long, short].map(({ exec_id }) => server.until(exec_id, ({ ended_at }) => ended_at !== null, 60_000)),
      )
      expect(ends[0]?.status).toBe('LOST')
      const isTrue = ends[1]?.status === 'FAILED' && ends[1].exit_code === 7
      expect(isTrue || ends[1]?.status === 'LOST', JSON.stringify(ends[1])).toBe(true)
      expect(await server.get(done.exec_id)).toEqual(done)
      expect(await server.exec(shell('echo after'))).toMatchObject({ status: 'SUCCEEDED' })
    },
    120_000,
  )

  it('nothing of them is left when the next server has looked', async () => {
    await server.stop()
    server = await startExecServer({
      place: server.place,
      flags: ['--backend', 'docker'],
      env: { DOCKER_HOST: daemon.host },
    })
    await until(() => daemon.docker('ps', '-aq').trim() === '')
  }, 60_000)
})

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('not in time')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
