// The Docker daemon is killed and started again under execs that run, on runc and on gVisor: each has its true end wherever it can be known,
// and is LOST elsewhere; none is guessed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { containersAt, dockerHasRuntime, execTarget, runscImage, type ExecTarget } from './exec-targets.ts'
import { textOf, until } from './lasting-execs.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const image = 'glovebox/sandbox:latest'
const missing = reasonWithout(image)
const hasGvisor = dockerHasRuntime('runsc') && reasonWithout(runscImage) === undefined
const isOnBoth = hasGvisor || isRequired('docker-runsc')

interface Served {
  readonly target: ExecTarget
  server: ExecServer
}

const ended = ({ ended_at }: ExecRecord): boolean => ended_at !== null

describe.skipIf(missing !== undefined && !isRequired('dockerd'))('execs under a daemon that is killed', () => {
  let daemon: PrivateDockerd
  let all: readonly Served[]
  const start = ({ options }: ExecTarget, place?: string): Promise<ExecServer> =>
    startExecServer({ ...options, ...(place === undefined ? {} : { place }), env: { DOCKER_HOST: daemon.host } })

  beforeAll(async () => {
    daemon = await privateDockerd(isOnBoth ? [image, runscImage] : [image])
    const targets = (isOnBoth ? ['docker', 'docker-runsc'] : ['docker']).map(execTarget)
    all = await Promise.all(targets.map(async (target) => ({ target, server: await start(target) })))
  })
  afterAll(async () => {
    for (const { server } of all) {
      await server.stop()
      await server.remove()
    }
    await daemon.remove()
  })

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    '%s: the true end where it can be known, LOST elsewhere, never a guess; and the next exec runs',
    async (signal) => {
      const begun = await Promise.all(all.map(({ server }) => beginBoth(server)))
      await daemon.kill(signal)
      // What has pipes of its own is heard to the end without the daemon.
      for (const [index, { server, target }] of all.entries())
        if (target.name === 'docker') await until(() => textOf(server, begun[index]?.short.stdout_path ?? '') === whole)
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await daemon.start()
      for (const [index, { server, target }] of all.entries()) await judge(target.name, server, begun[index])
    },
  )

  it('nothing of them is left when the next server has looked', async () => {
    for (const served of all) {
      await served.server.stop()
      served.server = await start(served.target, served.server.place)
    }
    await until(() => daemon.docker('ps', '-aq').trim() === '', 30_000)
    // The daemon of everybody else has none of them, and never had.
    for (const { server } of all) expect(containersAt(server.place)).toEqual([])
  })
})

interface Begun {
  readonly done: ExecRecord
  readonly long: ExecRecord
  readonly short: ExecRecord
}

const whole = 'begun\nover\n'

async function beginBoth(server: ExecServer): Promise<Begun> {
  const done = await server.exec(shell('echo before; exit 3'))
  expect(done).toMatchObject({ status: 'FAILED', exit_code: 3 })
  const [long, short] = await Promise.all(
    ['echo begun; sleep 300', 'echo begun; sleep 1; echo over; exit 7'].map((script) => server.begin(shell(script))),
  )
  if (long === undefined || short === undefined) throw new Error('two were begun')
  for (const { stdout_path } of [long, short]) await until(() => textOf(server, stdout_path).includes('begun'))
  return { done, long, short }
}

async function judge(name: string, server: ExecServer, begun: Begun | undefined): Promise<void> {
  if (begun === undefined) throw new Error(`nothing was begun on ${name}`)
  const { done, long, short } = begun
  expect(await server.until(long.exec_id, ended, 60_000), name).toMatchObject({ status: 'LOST', exit_code: null })
  const { status, exit_code } = await server.until(short.exec_id, ended, 60_000)
  // It ended while nobody looked, and docker has kept how. Of what ran in gVisor it has lost hold.
  if (name === 'docker') expect([status, exit_code, textOf(server, short.stdout_path)]).toEqual(['FAILED', 7, whole])
  else expect(['FAILED 7', 'LOST null'], name).toContain(`${status} ${exit_code}`)
  expect(await server.get(done.exec_id)).toEqual(done)
  expect(await server.exec(shell('echo after')), name).toMatchObject({ status: 'SUCCEEDED' })
}
