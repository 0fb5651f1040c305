// What is kept of a command that had a secret: a run with all its records, an exec of the server with its files, a sandbox behind
// HTTP. The command says the value in every form that it can think of; then the disk is searched.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ExecArtifacts } from '../../src/contract/exec-record.ts'
import { makeProject, run, type Project } from '../e2e/command-line.ts'
import { bytesOf, makePlace, readEvents, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { filesHolding, newCanary } from './canary.ts'
import { attackedSettings } from './command-line.ts'

/** On both outputs, alone and behind a user name, in small pieces, and far behind the limit of what is kept. */
const sayIt = [
  'echo "raw $TOKEN"; echo "raw $TOKEN" >&2; printf %s "$TOKEN" | base64; printf "user:%s" "$TOKEN" | base64 -w0; echo',
  'printf "me:%s\\n" "$TOKEN" | base64 | tr "+/" "-_"; printf %s "$TOKEN" | od -An -tx1 | tr -d " \\n"; echo',
  'printf %s "$TOKEN" | sed "s/-/%2D/g"; echo; cat /run/secrets/token',
  'for part in "${TOKEN%?????????????????}" "${TOKEN#??????????????}"; do printf %s "$part"; sleep 0.05; done; echo',
  'echo "$TOKEN" | fold -w 9; cat "/no/such/$TOKEN"',
].join('; ')
const keepIt = (directory: string): string =>
  `cd ${directory}; printf "a %s b" "$TOKEN" > kept; printf "user:%s" "$TOKEN" | base64 > basic; ln kept twice`
const expectTold = (text: string): void => {
  expect(text).toContain('raw [redacted:keys/token]')
  expect(text.match(/\[redacted:keys\/token\]/g)?.length).toBeGreaterThanOrEqual(7)
}

describe('a run with a secret', () => {
  let project: Project
  beforeEach(() => {
    project = makeProject()
  })
  afterEach(() => project.remove())

  it('a value that a command printed or kept is in no record of its run', async () => {
    const canary = newCanary()
    const keys = join(project.outside, 'keys')
    mkdirSync(keys)
    writeFileSync(join(keys, 'token'), `${canary}\n`, { mode: 0o600 })
    const state = join(project.outside, 'state')
    mkdirSync(state, { mode: 0o700 })
    writeFileSync(join(project.directory, 'glovebox.yaml'), attackedSettings, { mode: 0o600 })
    const flags = ['--mount', `/vaults/keys=${keys}:vault`, '--sandbox', 'runs/one']
    const secrets = ['--secret', 'keys/token=TOKEN', '--secret', 'keys/token:file']
    const words = ['--', 'sh', '-c', `${sayIt}; ${keepIt('/workspace')}; cp kept /deliverables/kept; mkdir "$TOKEN"`]
    const env = { GLOVEBOX_STATE_DIR: state }
    const done = await run(['run', '--prompt', 'Say it.', ...flags, ...secrets, ...words], {
      cwd: project.directory,
      env,
    })
    expect(done.code, done.stderr).toBe(0)
    expectTold(done.stdout)
    const directory = join(project.directory, 'runs', 'one')
    const own = ['workspace', 'deliverables']
    const records = readdirSync(directory).filter((name) => !own.includes(name))
    const places = (names: readonly string[]): readonly string[] => names.map((name) => join(directory, name))
    expect(filesHolding([canary], [...places(records), state])).toEqual([])
    expect(done.stdout + done.stderr).not.toContain(canary)
    const held = filesHolding([canary], places(own))
    expect(held.length, 'control: the guest did keep it in its own files').toBeGreaterThanOrEqual(4)
  })
})

describe('a server with a vault', () => {
  let server: ExecServer
  const canary = newCanary()
  beforeAll(async () => {
    const place = makePlace()
    mkdirSync(join(place, 'keys'))
    writeFileSync(join(place, 'keys', 'token'), `${canary}\n`, { mode: 0o600 })
    server = await startExecServer({
      place,
      settings: [
        attackedSettings,
        'vaults: { keys: { directory: keys } }',
        'policy: { ceilings: { secrets: [keys/token] } }',
        '',
      ].join('\n'),
    })
  })
  afterAll(() => server.remove())
  const secrets = [
    { name: 'keys/token', env: 'TOKEN' },
    { name: 'keys/token', file: 'token' },
  ]
  const kept = (): readonly string[] =>
    filesHolding([canary], [join(server.place, 'state'), join(server.place, 'data')])

  it('a value that a command printed or kept is in no record of its exec', async () => {
    const named = 'mkdir "$TOKEN"; ln -s "/no/such/$TOKEN" link'
    const command = `${sayIt}; ${keepIt('/workspace/artifacts')}; chmod 0 basic; ${named}`
    const body = (words: string, more = {}) => ({
      project_id: 'demo',
      exec: { kind: 'shell', command: words, ...more },
    })
    const exec = await server.exec(body(command, { secrets }))
    expect(exec).toMatchObject({
      status: 'SUCCEEDED',
      env_keys: ['TOKEN'],
      policy_snapshot: { secrets: ['keys/token'] },
    })
    const path = `/sandbox/execs/${exec.exec_id}`
    expectTold((await server.ask('GET', `${path}/stdout`)).text)
    expectTold(bytesOf(await readEvents(await server.fetch(`${path}/stream`)), 'stdout').toString())
    const { entries } = (await server.ask('GET', `${path}/artifacts`)).json as ExecArtifacts
    expect(entries.map((entry) => entry.path)).toEqual(expect.arrayContaining(['kept', 'twice']))
    // It has a second name, under which something else might be written to it: so it is not served, but mended all the same.
    expect(await server.ask('GET', `${path}/artifacts/kept`)).toMatchObject({
      status: 403,
      json: { error: { code: 'LINK_REFUSED' } },
    })
    const onDisk = join(server.workspace, exec.artifacts_dir, 'files', 'kept')
    expect(readFileSync(onDisk, 'utf8')).toMatch(/^a \*{31} b$/)
    expect(kept()).toEqual([])

    const another = await server.exec(
      body('echo "$TOKEN" > /workspace/work/left; cat /workspace/work/left', { secrets }),
    )
    expect(another.status).toBe('SUCCEEDED')
    const own = kept()
    expect(
      own.map((file) => file.split('/').at(-1)),
      'control: its own files are the guest’s',
    ).toEqual(['left'])
    const later = await server.exec(body('cat /workspace/work/left; cp /workspace/work/left /workspace/artifacts/left'))
    expect(later.policy_snapshot.secrets).toEqual([])
    expect((await server.ask('GET', `/sandbox/execs/${later.exec_id}/stdout`)).text).not.toContain(canary)
    expect(kept()).toEqual(own)
  })

  it('a value that is not granted to an exec is refused, and recorded as refused', async () => {
    const exec = { kind: 'shell', command: 'env', secrets: ['keys/other'] }
    const refused = await server.ask('POST', '/sandbox/execs', { body: { project_id: 'demo', exec } })
    expect(refused).toMatchObject({ status: 403, json: { error: { code: 'POLICY_ESCALATION' } } })
  })

  it('a value that a command printed is in no answer and no record of a sandbox', async () => {
    const made = await server.ask('POST', '/sandboxes', { body: { policy: { secrets: ['keys/token'] } } })
    expect(made.status, made.text).toBe(201)
    const { id } = made.json as { id: string }
    const before = kept()
    const told = await server.ask('POST', `/sandboxes/${id}/commands`, { body: { command: sayIt, secrets } })
    expectTold((told.json as { stdout: string }).stdout)
    const followed = await server.fetch(`/sandboxes/${id}/commands`, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ command: `${sayIt}; echo "$TOKEN" > /workspace/left`, secrets }),
    })
    const text = await followed.text()
    expect(text).toContain('"[redacted:keys/token]\\n"')
    const catalog = await server.ask('POST', `/sandboxes/${id}/commands`, { body: { command: 'cat .glovebox/* left' } })
    const read = await server.ask('POST', `/sandboxes/${id}/execute`, {
      body: { action: 'read_text', input: { path: 'left' } },
    })
    const refused = await server.ask('POST', `/sandboxes/${id}/execute`, {
      body: { action: 'read_text', input: { path: `missing-${canary}` } },
    })
    expect(read.text).toContain('[redacted:keys/token]')
    expect(refused.status).toBe(404)
    for (const answer of [told.text, text, catalog.text, read.text, refused.text, server.logs()])
      expect(answer).not.toContain(canary)
    expect(kept().filter((file) => !before.includes(file) && !file.endsWith('/left'))).toEqual([])
  })
})
