// The table of docs/callers.md, "Refusals by another name": each row is asked of a real server, and answered as it says.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

/** More than are asked for at once. */
const mostSandboxes = 8

let ground: ServerGround
let sandbox: string
let stranger: string

beforeAll(async () => {
  ground = await startServer({ flags: ['--limit', `perToken=${mostSandboxes}`] })
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes', { body: { project: 'ours' } })).at('id'))}`
  stranger = await ground.makeToken('exec', 'theirs')
  const made = await command({ command: `mkfifo fifo; mkdir dir; ln -s /etc/passwd link; ln -s ${ground.data} out` })
  if (made.at('exitCode') !== 0) throw new Error(made.text)
})
afterAll(async () => {
  await ground.stop()
})

const create = (body: object): Promise<Answered> => ground.call('POST', '/sandboxes', { body })
const command = (body: object): Promise<Answered> => ground.call('POST', `${sandbox}/commands`, { body })
const file = (path: string, route = ''): Promise<Answered> =>
  ground.call('GET', `${sandbox}/files${route}?path=${encodeURIComponent(path)}`)
const exec = (more: object, own: object = {}): Promise<Answered> =>
  ground.call('POST', '/sandbox/execs', {
    body: { project_id: 'demo', exec: { kind: 'shell', command: 'true', ...own }, ...more },
  })
/** The last one is too many. */
async function fill(): Promise<Answered> {
  for (let made = 1; made < mostSandboxes; made++) await create({ project: 'ours' })
  return create({ project: 'ours' })
}
const run = (token?: string): Promise<Answered> =>
  ground.call('POST', '/runs', {
    body: { run_id: 'taken', prompt: 'x', command: ['true'] },
    ...(token === undefined ? {} : { token }),
  })
/** Of an exec that left it, and whose files somebody has touched since. */
async function artifact(touch: (place: string) => void): Promise<Answered> {
  const { at } = await exec({}, { command: 'echo x >/workspace/artifacts/left' })
  touch(join(ground.data, 'workspace', String(at('artifacts_dir'))))
  return ground.call('GET', `/sandbox/execs/${String(at('exec_id'))}/artifacts/left`)
}
const unoffered = [{ name: 'unknown', guestPath: '/data' }]

/** By how a row begins. What is asked gives the answers that the row names, all of them and no others. */
const asked: Readonly<Record<string, () => readonly Promise<Answered>[]>> = {
  'an archive': () => [],
  'an artifact': () => [
    artifact((place) => writeFileSync(join(place, 'files', 'left'), 'y')),
    artifact((place) => writeFileSync(join(place, 'manifest.json'), '')),
  ],
  '`privileged`': () => [
    ...['privileged', 'runtime', 'uid', 'user', 'capabilities', 'devices'].map((name) => create({ [name]: 'x' })),
    create({ mounts: [{ name: 'data', guestPath: '/data', hostPath: '/etc' }] }),
  ],
  'a mount that': () => [
    create({ mounts: unoffered }),
    ground.call('POST', `${sandbox}/provision`, { body: { mounts: { add: unoffered } } }),
  ],
  'an image': () => [exec({ image: '--privileged' }), exec({ image: 'debian' }), create({ image: 'debian' })],
  'a field with': () => [create({ name: 1 }), command({ command: 'true', timeoutMs: -1 })],
  'a variable': () =>
    [{ 'A=B': 'x' }, { A: 'x\0y' }, { ['A'.repeat(129)]: 'x' }, { A: 'x'.repeat(131_073) }].flatMap((env) => [
      exec({}, { env }),
      create({ env }),
      command({ command: 'true', env }),
      ground.call('POST', `${sandbox}/shells`, { body: { env } }),
      ground.call('POST', '/runs', { body: { prompt: 'x', command: ['true'], env } }),
    ]),
  'a path that is malformed': () => [file('a\0b'), file('a'.repeat(256))],
  'a path outside': () =>
    ['/etc/passwd', '../../etc/passwd', '/proc/self/root/etc', '/dev/stdin'].map((path) => file(path)),
  'a link that': () => [file('link')],
  'a FIFO': () => [file('fifo')],
  'a working directory outside': () => [command({ command: 'true', cwd: '/etc' }), exec({}, { cwd: '/etc' })],
  'a working directory that is a link': () => [command({ command: 'true', cwd: '/workspace/out' })],
  'a working directory that is missing': () => [command({ command: 'true', cwd: '/workspace/never' })],
  'too many': () => [fill()],
  'a run under': () => [run(stranger).then(() => run())],
  "another project's": () => ['GET', 'DELETE'].map((method) => ground.call(method, sandbox, { token: stranger })),
}

const page = readFileSync(new URL('../../docs/callers.md', import.meta.url), 'utf8')
const rows = page
  .slice(page.indexOf('## Refusals by another name'))
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => line.split(' | '))

describe('docs/callers.md, refusals by another name', () => {
  it.each(rows.map(([what = '', , here = '']) => [what.replace(/^\| /, ''), here]))('%s: %s', async (what, here) => {
    const own = Object.keys(asked).filter((beginning) => what.startsWith(beginning))
    expect(own).toHaveLength(1)
    const told = [...here.matchAll(/`(\d{3} [A-Z_]+)`/g)].map(([, words = '']) => words)
    const answers = await Promise.all(asked[own[0] ?? '']?.() ?? [])
    const outcomes = new Set(answers.map((answer) => `${answer.status} ${String(codeOf(answer))}`))
    expect(outcomes).toEqual(new Set(told))
  })

  it('has a row for each that is asked here', () => {
    expect(rows).toHaveLength(Object.keys(asked).length)
  })
})
