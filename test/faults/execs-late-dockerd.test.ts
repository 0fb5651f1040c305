// A server that was started before its Docker daemon, and before its image: it says so, refuses what it cannot run, and is mended by
// whoever starts the daemon and brings the image. Nobody starts the server again.
import { renameSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecHealth } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { ended, letGo, textOf, until, untilGo } from './lasting-execs.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const image = 'glovebox/sandbox:latest'
const missing = reasonWithout(image)

describe.skipIf(missing !== undefined && !isRequired('dockerd'))('a server that is there before its daemon', () => {
  let daemon: PrivateDockerd
  const servers: ExecServer[] = []
  const start = async (place?: string): Promise<ExecServer> => {
    const server = await startExecServer({
      flags: ['--backend', 'docker'],
      env: { DOCKER_HOST: daemon.host },
      ...(place === undefined ? {} : { place }),
    })
    servers.push(server)
    return server
  }
  const healthOf = async (server: ExecServer): Promise<ExecHealth> =>
    (await server.ask('GET', '/sandbox/health')).json as ExecHealth
  const readiness = async (server: ExecServer): Promise<string> => {
    const { status, json } = await server.ask('GET', '/readyz')
    return `${status} ${(json as { readonly status: string }).status}`
  }

  beforeAll(async () => {
    daemon = await privateDockerd([])
    await daemon.kill('SIGTERM')
  })
  afterAll(async () => {
    for (const server of servers) {
      await server.stop()
      await server.remove()
    }
    await daemon.remove()
  })

  it('refuses and says why, and works as soon as daemon and image are there', async () => {
    const server = await start()
    expect(await healthOf(server)).toMatchObject({
      status: 'degraded',
      docker: { available: false, version: null },
      backends: [{ name: 'docker', available: false, reason: expect.stringContaining('does not answer') }],
    })
    expect(await readiness(server)).toBe('503 degraded')
    const refused = { status: 'FAILED', error_reason: 'backend_unavailable', exit_code: null }
    expect(await server.exec(shell('echo early'))).toMatchObject(refused)
    expect(await server.ask('POST', '/sandboxes', { body: {} })).toMatchObject({
      status: 503,
      json: { error: { code: 'BACKEND_UNAVAILABLE' } },
    })

    await daemon.start()
    await expect.poll(async () => (await healthOf(server)).backends[0]?.reason).toContain(`image ${image} is not there`)
    expect(await readiness(server)).toBe('503 degraded')
    expect(await server.exec(shell('echo early'))).toMatchObject(refused)

    daemon.load([image])
    await expect.poll(() => readiness(server)).toBe('200 ready')
    await expect.poll(async () => (await healthOf(server)).status).toBe('ok')
    expect((await healthOf(server)).docker).toMatchObject({ available: true, context: 'default' })
    const exec = await server.exec(shell('echo late'))
    expect(exec).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    expect(textOf(server, exec.stdout_path)).toBe('late\n')
    expect((await server.ask('POST', '/sandboxes', { body: {} })).status).toBe(201)
  })

  it('calls nothing lost that it cannot ask for yet', async () => {
    const first = servers[0] ?? (await start())
    const exec = await first.begin(shell(`echo begun; ${untilGo}; echo over; exit 9`))
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    await first.kill()
    // To the next server there is no daemon at its address, while the container runs on.
    const socket = daemon.host.slice('unix://'.length)
    renameSync(socket, `${socket}.away`)
    const second = await start(first.place)
    expect(await healthOf(second)).toMatchObject({ status: 'degraded' })
    expect(await second.get(exec.exec_id)).toMatchObject({ status: 'RUNNING' })
    renameSync(`${socket}.away`, socket)
    letGo(second)
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 9 })
    expect(textOf(second, exec.stdout_path)).toBe('begun\nover\n')
  })
})
