// Servers whose sandboxes are containers, in one place for the cases of a file.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'

// Long enough for what one that was left has to be cleared of, on a busy machine too.
export const flags = ['--backend', 'docker', '--limit', 'waitMs=2500']

export const post = (server: ServerGround, path: string, body?: object): Promise<Answered> =>
  server.call('POST', path, body === undefined ? {} : { body })
export const acquire = (server: ServerGround, key: string): Promise<Answered> => post(server, '/sandboxes', { key })
export const said = async (server: ServerGround, id: unknown, command: string): Promise<unknown> =>
  (await post(server, `/sandboxes/${String(id)}/commands`, { command })).at('stdout')

export interface DockerPool {
  readonly place: string
  /** Of the whole file. */
  readonly one: ServerGround
  /** Another one in the same place. Whoever starts it stops it. */
  another(more?: readonly string[]): Promise<ServerGround>
}

export function openDockerPool(): () => DockerPool {
  let place: string
  let one: ServerGround
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-pool-docker-')))
    one = await startServer({ place, flags })
  })
  afterAll(async () => {
    await one.stop()
    rmSync(place, { recursive: true, force: true })
  })
  return () => ({
    place,
    one,
    another: (more = flags) => startServer({ place, flags: more, token: one.token }),
  })
}

/** Of the installation in this place alone; of one server, if it is named: a sandbox of another may be given one more at any time. */
export function containers({ place }: Pick<DockerPool, 'place'>, madeBy?: ServerGround): readonly string[] {
  const installation = readFileSync(join(place, 'state', 'docker', 'installation'), 'utf8').trim()
  const filter = `label=dev.glovebox.installation=${installation}`
  const format = '{{.ID}} {{.Label "dev.glovebox.owner"}}'
  const lines = execFileSync('docker', ['ps', '--all', '--no-trunc', '--filter', filter, '--format', format], {
    encoding: 'utf8',
  }).split('\n')
  return lines.flatMap((line) => {
    const [id = '', owner = ''] = line.split(' ')
    const isMeant = madeBy === undefined || owner.startsWith(`${madeBy.server.child.pid}.`)
    return id !== '' && isMeant ? [id] : []
  })
}

/** Settles when Docker knows none of them any more. It refuses where one is just being removed by its owner, which is as good. */
export async function removeContainers(ids: readonly string[]): Promise<void> {
  spawnSync('docker', ['rm', '--force', ...ids], { stdio: 'ignore' })
  const left = (): readonly string[] =>
    execFileSync('docker', ['ps', '--all', '--quiet', '--no-trunc'], { encoding: 'utf8' })
      .split('\n')
      .filter((id) => ids.includes(id))
  await expect.poll(left).toEqual([])
}

/** Whether the cases are to be tried here. */
export function hasDockerImage(): boolean {
  if (isRequired('docker')) return true
  try {
    execFileSync('docker', ['image', 'inspect', 'glovebox/sandbox:latest'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
