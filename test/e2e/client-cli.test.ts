// The command line as one more caller of a server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunRecord } from '../../src/contract/run.ts'
import { client, openClientGround, type ClientGround } from './client-ground.ts'
import { type Finished, run, start, type StartOptions, until } from './command-line.ts'

let ground: ClientGround
let elsewhere: string
let env: Readonly<Record<string, string>>

beforeAll(async () => {
  ground = await openClientGround()
  elsewhere = mkdtempSync(join(tmpdir(), 'glovebox-caller-'))
  writeFileSync(join(elsewhere, 'own.txt'), 'of this host\n')
  env = { GLOVEBOX_SERVER: ground.url, GLOVEBOX_TOKEN: ground.token, GLOVEBOX_STATE_DIR: join(elsewhere, 'state') }
})
afterAll(async () => {
  await ground[Symbol.asyncDispose]()
  rmSync(elsewhere, { recursive: true, force: true })
})

const glovebox = (argv: readonly string[], options: Partial<StartOptions> = {}): Promise<Finished> =>
  run(argv, { cwd: elsewhere, ...options, env: { ...env, ...options.env } })

describe('exec on a server', () => {
  it('gives output, exit code and remarks as exec here does', async () => {
    expect(await glovebox(['exec', '--', 'sh', '-c', 'echo out; echo err >&2; pwd; exit 9'])).toEqual({
      code: 9,
      signal: null,
      stdout: 'out\n/workspace\n',
      stderr: 'err\n',
    })
    expect(await glovebox(['exec', '--', 'no-such-program'])).toMatchObject({ code: 127 })
    const late = await glovebox(['exec', '--timeout', '300ms', '--', 'sleep', '30'])
    expect(late).toMatchObject({ code: 124, stdout: '' })
    expect(late.stderr).toContain('The command was ended after')
  })

  it('hands on standard input, environment and working directory, and nothing of this host', async () => {
    const flags = ['--env', 'A=1 2', '--cwd', '/tmp']
    const script = 'cat; echo "$A"; pwd; ls /workspace | grep own.txt || echo none'
    const done = await glovebox(['exec', ...flags, '--', 'sh', '-c', script], { input: Buffer.from('in\n') })
    expect(done).toMatchObject({ code: 0, stdout: 'in\n1 2\n/tmp\nnone\n' })
  })

  it('speaks JSON', async () => {
    const done = await glovebox(['exec', '--json', '--memory', '64m', '--', 'echo', 'hi'])
    expect(JSON.parse(done.stdout)).toMatchObject({ exitCode: 0, stdout: 'hi\n', sandbox: { backend: 'bwrap' } })
  })

  it('leaves no sandbox behind, even when it is interrupted', async () => {
    const { runs: _, sandboxes } = client.connect({ url: ground.url, token: ground.token })
    const begun = start(['exec', '--', 'sh', '-c', 'echo begun; sleep 300'], { cwd: elsewhere, env })
    let out = ''
    begun.child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()))
    await until('the command has begun', () => out.includes('begun'))
    expect((await sandboxes.list()).items).toHaveLength(1)
    begun.child.kill('SIGINT')
    expect(await begun.finished).toMatchObject({ code: 130 })
    expect((await sandboxes.list()).items).toEqual([])
  })

  it('flags that mean nothing on a server are refused', async () => {
    for (const flags of [
      ['--mount', '/data=.'],
      ['--policy', 'own.txt'],
    ]) {
      const done = await glovebox(['exec', ...flags, '--', 'true'])
      expect(done).toMatchObject({ code: 125, stdout: '' })
      expect(done.stderr).toContain(`Cannot use ${flags[0]} with a server`)
    }
    for (const flags of [
      ['--sandbox', 'x'],
      ['--input', 'own.txt'],
      ['--config', 'own.txt'],
    ])
      expect((await glovebox(['run', '--prompt', 'x', ...flags, '--', 'true'])).stderr).toContain(
        `Cannot use ${flags[0]}`,
      )
    expect((await glovebox(['runs', 'list', '--root', '.'])).stderr).toContain('Cannot use --root')
    for (const words of [
      ['answer', 'x', 'yes'],
      ['cancel', 'x'],
    ])
      expect((await glovebox(['runs', ...words, '--timeout', '1s'])).stderr).toContain('Cannot use --timeout with a')
    expect((await glovebox(['shell', '--list'])).stderr).toContain('Cannot list the shells of a server')
  })

  it('asks for no more than the server allows', async () => {
    const done = await glovebox(['exec', '--memory', '900g', '--', 'true'])
    expect(done).toMatchObject({ code: 125 })
    expect(done.stderr).toContain('Cannot widen memoryMb')
  })
})

describe('the way to the server', () => {
  it('is named by a flag too, with the token in a file', async () => {
    writeFileSync(join(elsewhere, 'token'), `${ground.token}\n`)
    const flags = ['--server', ground.url, '--token-file', 'token']
    const without = { GLOVEBOX_SERVER: 'http://127.0.0.1:1', GLOVEBOX_TOKEN: '' }
    expect(await glovebox(['exec', ...flags, '--', 'echo', 'hi'], { env: without })).toMatchObject({ stdout: 'hi\n' })
    expect(await glovebox(['runs', 'list', '-q', ...flags], { env: without })).toMatchObject({ code: 0 })
  })

  it('that leads nowhere is told within seconds, with what to do', async () => {
    const begun = performance.now()
    const done = await glovebox(['exec', '--server', 'http://127.0.0.1:1', '--', 'true'])
    expect(done).toMatchObject({ code: 125, stdout: '' })
    expect(done.stderr).toContain('Cannot create the sandbox: the server cannot be reached')
    expect(done.stderr).toContain('hint: ')
    expect(performance.now() - begun).toBeLessThan(30_000)
  })

  it('without a token, or with a wrong one, is refused with exit code 4', async () => {
    const none = await glovebox(['runs', 'list'], { env: { GLOVEBOX_TOKEN: '' } })
    expect(none).toMatchObject({ code: 4, stdout: '' })
    expect(none.stderr).toContain('there is no token')
    const wrong = `gbx_${'A'.repeat(43)}`
    const refused = await glovebox(['runs', 'list'], { env: { GLOVEBOX_TOKEN: wrong } })
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    expect(refused.stderr).not.toContain(wrong)
    expect(refused.stderr).toMatch(/hint: .*GLOVEBOX_TOKEN, .*--token-file/)
    expect(refused.stderr).not.toContain('Authorization')
    expect(await glovebox(['exec', '--', 'true'], { env: { GLOVEBOX_TOKEN: wrong } })).toMatchObject({ code: 125 })
  })
})

describe('runs on a server', () => {
  const ask = (...argv: readonly string[]): Promise<Finished> => glovebox(['runs', ...argv])

  it('a run is performed, told, listed, shown and its files are read', async () => {
    const script = 'cat "$GLOVEBOX_PROMPT_FILE" > /deliverables/report.md; exit 0'
    const done = await glovebox(['run', '--prompt', 'Write it.', '--run-id', 'first', '--', 'sh', '-c', script])
    expect(done).toMatchObject({ code: 0, stdout: '' })
    expect(done.stderr).toContain('The run is completed')
    expect(done.stderr).toContain('deliverables/report.md (9 bytes)')
    expect((await ask('list', '-q')).stdout).toContain('first\n')
    // The list follows the files a moment later.
    await expect.poll(async () => (await ask('list')).stdout).toMatch(/first +completed/)
    expect((await ask('show', 'fir')).stdout).toMatch(/status +completed/)
    const shown = JSON.parse((await ask('show', 'first', '--json')).stdout) as RunRecord
    expect(shown).toMatchObject({ run_id: 'first', status: 'completed' })
    expect((await ask('artifacts', 'first')).stdout).toContain('deliverables/report.md')
    expect(await ask('artifacts', 'first', '--get', 'deliverables/report.md')).toMatchObject({ stdout: 'Write it.' })
    const events = (await ask('events', 'first', '--json', '--from', '2')).stdout.trimEnd().split('\n')
    expect((JSON.parse(events[0] ?? '') as { seq: number }).seq).toBe(2)
    expect(events.at(-1)).toContain('"type":"run_ended"')
    expect((await ask('show', 'nobody')).code).toBe(1)
  })

  it('every command that is printed as the next one can be called as it stands', async () => {
    writeFileSync(join(elsewhere, 'the token'), `${ground.token}\n`)
    const flags = ['--server', ground.url, '--token-file', 'the token']
    const without = { GLOVEBOX_SERVER: '', GLOVEBOX_TOKEN: '' }
    const printed = (text: string): string => /glovebox (runs? .*)$/m.exec(text)?.[1] ?? ''
    /** As a person's shell reads the words. */
    const call = (words: string): Promise<Finished> => {
      const through = ['sh', '-c', `exec "$@" ${words}`, 'sh']
      return glovebox([], { env: without, through })
    }
    const done = await glovebox(['run', ...flags, '--run-id', 'told', '--prompt', 'x', '--', 'true'], { env: without })
    expect(printed(done.stderr)).toMatch(/^runs artifacts told --server /)
    expect(await call(printed(done.stderr))).toMatchObject({ code: 0 })
    const { runs } = client.connect({ url: ground.url, token: ground.token })
    await runs.create({ run_id: 'sent-back', prompt: 'x', command: ['true'], review: true })
    await expect.poll(async () => (await runs.get('sent-back')).record?.status).toBe('review_required')
    const sent = await glovebox(['runs', 'revise', 'sent-back', '--message', 'Again.', ...flags], { env: without })
    expect(printed(sent.stdout)).toMatch(/^run --revises sent-back --server /)
    expect(await call(printed(sent.stdout))).toMatchObject({ code: 0 })
  })

  it("a run's exit code is its command's, and events come as lines", async () => {
    const failed = await glovebox(['run', '--json', '--prompt', 'x', '--', 'sh', '-c', 'exit 6'])
    expect(failed).toMatchObject({ code: 6, stderr: '' })
    expect(JSON.parse(failed.stdout)).toMatchObject({ status: 'failed', failure_reason: 'exit_nonzero' })
    const events = await glovebox(['run', '--json-events', '--prompt', 'x', '--', 'true'])
    const lines = events.stdout.trimEnd().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(lines.map((_, index) => index + 1))
  })

  it('Ctrl-C cancels the run on the server', async () => {
    const begun = start(['run', '--json-events', '--run-id', 'stopped', '--prompt', 'x', '--', 'sleep', '300'], {
      cwd: elsewhere,
      env,
    })
    let out = ''
    begun.child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()))
    await until('the command has begun', () => out.includes('action_started'))
    begun.child.kill('SIGINT')
    expect(await begun.finished).toMatchObject({ code: 130 })
    expect((await ask('show', 'stopped')).stdout).toMatch(/status +cancelled/)
  })

  it('a person cancels, sends back and approves from afar', async () => {
    const { runs } = client.connect({ url: ground.url, token: ground.token })
    await runs.create({ run_id: 'long', prompt: 'x', command: ['sleep', '300'] })
    expect(await ask('cancel', 'long')).toMatchObject({ code: 0, stdout: 'long is cancelled\n' })
    for (const run_id of ['good', 'bad']) {
      await runs.create({ run_id, prompt: 'x', command: ['true'], review: true })
      await expect.poll(async () => (await runs.get(run_id)).record?.status).toBe('review_required')
    }
    expect(await ask('approve', 'good', '--message', 'Fine.')).toMatchObject({ code: 0, stdout: 'good is completed\n' })
    const sent = await ask('revise', 'bad', '--message', 'Again.')
    expect(sent).toMatchObject({ code: 0 })
    expect(sent.stdout).toContain('glovebox run --revises bad')
    expect(await glovebox(['run', '--revises', 'bad'])).toMatchObject({ code: 0 })
    expect((await ask('answer', 'good', 'yes')).code).toBe(1)
    expect((await ask('list', '--status', 'cancelled', '-q')).stdout.split('\n')).toContain('long')
  })
})
