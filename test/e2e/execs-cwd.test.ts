// A working directory of an exec that goes while it is at work, or that is reached through a link: what each exec is told.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

const within = (project_id: string, command: string, cwd: string) => ({
  project_id,
  exec: { kind: 'shell', command, cwd },
})
const output = async ({ exec_id }: ExecRecord): Promise<string> =>
  (await server.ask('GET', `/sandbox/execs/${exec_id}/stdout`)).text
const work = (project: string, ...names: readonly string[]): string =>
  join(server.workspace, 'projects', project, 'work', ...names)
const waitFor = (name: string): string => `touch ../begun; while [ ! -e ${name} ]; do sleep 0.05; done`
const notFound = { status: 'FAILED', error_reason: 'not_found', exit_code: null }

describe('a working directory that another exec removes in mid-run', () => {
  it.each([
    ['as it is', 'here', ''],
    ['through a link', 'link', 'ln -sfn here link'],
  ])('%s: whoever is in it goes on, and whoever comes later does not begin', async (what, cwd, link) => {
    const project_id = `removed-${what.replaceAll(' ', '-')}`
    await server.exec({ ...shell(`mkdir here; ${link}`), project_id })
    // Nothing of it is there any more by its name, and its end is its own.
    const script = `${waitFor('/workspace/work/go')}; ls -A; cd /workspace/work && pwd; exit 5`
    const first = await server.begin(within(project_id, script, cwd))
    await expect.poll(() => existsSync(work(project_id, 'begun'))).toBe(true)
    const remover = await server.exec({ ...shell('rm -rf here && ls -d here link; touch go'), project_id })
    expect([remover.status, await output(remover)]).toEqual(['SUCCEEDED', link === '' ? '' : 'link\n'])
    const ended = await server.until(first.exec_id, ({ status }) => status !== 'RUNNING')
    expect(ended).toMatchObject({ status: 'FAILED', error_reason: 'exit_nonzero', exit_code: 5 })
    expect(await output(ended)).toBe('/workspace/work\n')
    expect(await server.exec(within(project_id, 'touch /workspace/work/later', cwd))).toMatchObject(notFound)
    expect(existsSync(work(project_id, 'later'))).toBe(false)
    await server.exec({ ...shell('mkdir here'), project_id })
    expect(await output(await server.exec(within(project_id, 'pwd -P', cwd)))).toBe('/workspace/work/here\n')
  })

  it('is not there for one that waited in the queue meanwhile', async () => {
    const project_id = 'queued'
    await server.exec({ ...shell('mkdir here'), project_id })
    const blockers = await Promise.all(
      Array.from({ length: 4 }, () => server.begin({ ...shell('sleep 600'), project_id })),
    )
    for (const { exec_id } of blockers) await server.until(exec_id, ({ status }) => status === 'RUNNING')
    const queued = await server.begin(within(project_id, 'touch /workspace/work/begun', 'here'))
    expect(queued.status).toBe('QUEUED')
    rmSync(work(project_id, 'here'), { recursive: true })
    for (const { exec_id } of blockers) await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
    expect(await server.until(queued.exec_id, ({ status }) => status === 'FAILED')).toMatchObject(notFound)
    expect(existsSync(work(project_id, 'begun'))).toBe(false)
  })
})

describe('a working directory through a link', () => {
  it('is where it leads to inside, and nowhere where that is not inside', async () => {
    const project_id = 'links'
    await server.exec({ ...shell('mkdir -p deep/er; touch file'), project_id })
    mkdirSync(join(server.place, 'of-the-host'))
    writeFileSync(join(server.place, 'of-the-host', 'secret'), '')
    for (const [name, target] of [
      ['in', 'deep/er'],
      ['absolute', '/workspace/work/deep'],
      ['up', '../artifacts'],
      ['system', '/etc'],
      ['out', join(server.place, 'of-the-host')],
      ['climbing', `${'../'.repeat(20)}${server.place}/of-the-host`],
      ['loop', 'loop'],
      ['dangling', 'nothing'],
      ['file-link', 'file'],
    ] as const)
      symlinkSync(target, work(project_id, name))
    const told = async (cwd: string): Promise<unknown> => {
      const exec = await server.exec(within(project_id, 'pwd -P', cwd))
      return exec.status === 'SUCCEEDED' ? await output(exec) : [exec.status, exec.error_reason, exec.exit_code]
    }
    expect(await told('in')).toBe('/workspace/work/deep/er\n')
    expect(await told('absolute/er')).toBe('/workspace/work/deep/er\n')
    expect(await told('up')).toBe('/workspace/artifacts\n')
    // As with `cd`: what the guest can see it may stand in, and what it cannot is not there.
    expect(await told('system')).toBe('/etc\n')
    for (const name of ['out', 'climbing', 'dangling'])
      expect([name, await told(name)]).toEqual([name, ['FAILED', 'not_found', null]])
    expect(await told('loop')).toEqual(['FAILED', 'not_found', null])
    expect(await told('file')).toEqual(['FAILED', 'not_a_directory', null])
    // Followed inside, from where no more is told than that it leads to no directory.
    expect(await told('file-link')).toEqual(['FAILED', 'not_found', null])
  })
})
