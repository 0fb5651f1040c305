// `GET /sandbox/health` on a host with Docker: what it tells is what docker itself tells, and what can be mended is told with its fix.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ExecHealth } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { dockerHasImage } from '../faults/exec-targets.ts'
import { makePlace, shell, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest') || isRequired('docker')
const isRoot = process.getuid?.() === 0

const servers: ExecServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.stop()
    await server.remove()
  }
})
async function start(options: ServerOptions): Promise<ExecServer> {
  const server = await startExecServer(options)
  servers.push(server)
  return server
}
const healthOf = async (server: ExecServer): Promise<ExecHealth> =>
  (await server.ask('GET', '/sandbox/health')).json as ExecHealth
const said = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
const dockerPath = isHere ? said('sh', '-c', 'command -v docker') : ''
const both = ['--backend', 'docker', '--backend', 'bwrap']

describe.skipIf(!isHere)('health with Docker', () => {
  it('tells the program, version and context of docker, the paths, and each backend', async () => {
    const place = makePlace()
    const config = join(place, 'docker-config')
    // One that is not the default: the answer must have come from docker.
    const socket = said('docker', 'context', 'inspect', '--format', '{{.Endpoints.docker.Host}}')
    said('docker', '--config', config, 'context', 'create', 'another', '--docker', `host=${socket}`)
    const env = { DOCKER_CONFIG: config, DOCKER_CONTEXT: 'another' }
    const server = await start({ place, flags: both, env })
    const health = await healthOf(server)
    const version = said('docker', 'version', '--format', '{{.Server.Version}}')
    expect(health).toEqual({
      status: 'ok',
      runtime_mode: 'linux',
      workspace_root_native: join(place, 'data', 'workspace'),
      workspace_writable: true,
      docker: {
        cli_path: dockerPath,
        mount_path: join(place, 'data', 'workspace'),
        version,
        context: 'another',
        available: true,
      },
      backends: [
        { name: 'docker', available: true, version, reason: null, fix: null },
        { name: 'bwrap', available: true, version: said('bwrap', '--version').split(' ')[1], reason: null, fix: null },
      ],
      execs: { running: 0, queued: 0, max_concurrent: expect.any(Number), max_queued: expect.any(Number) },
    })
  })

  it('without a daemon it is degraded, and tells why and what mends it', async () => {
    const env = { DOCKER_HOST: 'unix:///nowhere/docker.sock' }
    const { status, docker, backends } = await healthOf(await start({ flags: both, env }))
    expect(status).toBe('degraded')
    expect(docker).toMatchObject({ cli_path: dockerPath, available: false, version: null })
    expect(backends).toMatchObject([
      { name: 'docker', available: false, reason: expect.stringContaining('does not answer') },
      { name: 'bwrap', available: true },
    ])
    expect(backends[0]?.fix).toContain('Start it')
    // Where execs run on another one, they can.
    const inOrder = ['--backend', 'bwrap', '--backend', 'docker']
    expect(await healthOf(await start({ flags: inOrder, env }))).toMatchObject({
      status: 'ok',
      docker: { available: false },
    })
  })
})

describe.skipIf(!isRoot)('health of a workspace [needs root, who may mount]', () => {
  it('one that cannot be written is told, and so is that it can be again', async () => {
    const place = makePlace()
    const workspace = join(place, 'data', 'workspace')
    mkdirSync(workspace, { recursive: true, mode: 0o700 })
    // Root may write whatever its mode: only a mount keeps it out. It is one of the server's own namespace.
    const bind = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$0" && exec "$@"', workspace]
    const server = await start({ place, under: bind })
    const remount = (mode: 'ro' | 'rw'): string =>
      said('nsenter', '--target', String(server.pid), '--mount', 'mount', '-o', `remount,bind,${mode}`, workspace)
    expect(await healthOf(server)).toMatchObject({ status: 'ok', workspace_writable: true })
    remount('ro')
    expect(await healthOf(server)).toMatchObject({
      status: 'degraded',
      workspace_writable: false,
      workspace_root_native: workspace,
      backends: [{ name: 'bwrap', available: true }],
    })
    const refused = await server.ask('POST', '/sandbox/execs', { body: shell('true') })
    expect(refused).toMatchObject({ status: 503, json: { error: { code: 'DISK_READ_ONLY' } } })
    expect(refused.text).toContain('the disk of the workspace is read-only')
    remount('rw')
    expect(await healthOf(server)).toMatchObject({ status: 'ok', workspace_writable: true })
    expect(await server.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED' })
  })
})
