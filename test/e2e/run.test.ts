import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { sandboxManifestSchema } from '../../src/contract/artifact.ts'
import { eventSchema } from '../../src/contract/event.ts'
import { runRecordSchema, taskRecordSchema } from '../../src/contract/run.ts'
import { openRun } from '../../src/runs/open.ts'
import { verifyRun } from '../../src/runs/verify.ts'
import { until } from './command-line.ts'
import { eventsOf, layout, makeRunGround, recordOf, treeOf, type RunGround } from './run-ground.ts'

let ground: RunGround
beforeEach(() => {
  ground = makeRunGround()
})
afterEach(() => ground.remove())

/** What every run has, however it ended. */
async function expectWhole(directory: string): Promise<void> {
  expect(readdirSync(directory).toSorted()).toEqual(layout)
  const record = runRecordSchema.parse(recordOf(directory))
  expect(Object.values(record)).not.toContain(undefined)
  const events = eventsOf(directory)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(events.filter(({ type }) => type === 'run_ended')).toHaveLength(1)
  expect(events.at(-1)?.type).toBe('run_ended')
  expect((await verifyRun(directory)).findings).toEqual([])
}

/** Waits until the first command of the run is at work. */
const atWork = (directory: string): Promise<void> =>
  until('the command has started', () => {
    const log = join(directory, 'events.jsonl')
    return existsSync(log) && readFileSync(log, 'utf8').includes('action_started')
  })

/** Its event loop has been told to look at descriptor 0. */
function isWaitingForInput(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/fdinfo`).some((descriptor) =>
      /^tfd:\s+0 /m.test(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8')),
    )
  } catch {
    // One of them was closed meanwhile.
    return false
  }
}

const sleeping = (name: string): readonly string[] =>
  `run --prompt Sleep. --sandbox runs/${name} -- sleep 60`.split(' ')

describe('glovebox run', () => {
  it('yields exactly the layout, keeps the ids that were given, and tells where everything lies', async () => {
    ground.settings('title: A little job\nprofile: small\ndeliverables: [report.txt]\n')
    const ids = ['--session-id', 'sess_mine', '--task-id', 'task.mine', '--run-id', 'run-mine']
    const done = await ground.shell(
      'demo-001',
      'cat "$GLOVEBOX_PROMPT_FILE"; cp "$GLOVEBOX_PROMPT_FILE" /deliverables/report.txt; pwd >here.txt',
      '--config',
      'glovebox.yaml',
      ...ids,
    )
    expect(done).toMatchObject({ code: 0, stdout: 'Do it.' })
    const directory = ground.place('demo-001')
    await expectWhole(directory)
    expect(recordOf(directory)).toMatchObject({
      session_id: 'sess_mine',
      task_id: 'task.mine',
      run_id: 'run-mine',
      profile_id: 'small',
      status: 'completed',
      failure_reason: null,
      executor: 'command',
      revision_of: null,
    })
    expect(readFileSync(join(directory, 'workspace/here.txt'), 'utf8')).toBe('/workspace\n')
    expect(readFileSync(join(directory, 'config.yaml'), 'utf8')).toBe(
      readFileSync(join(ground.directory, 'glovebox.yaml'), 'utf8'),
    )
    expect(taskRecordSchema.parse(parse(readFileSync(join(directory, 'task.yaml'), 'utf8')))).toMatchObject({
      title: 'A little job',
      deliverables: [{ path: 'report.txt', allow_empty: false }],
    })
    expect(readFileSync(join(directory, 'transcript.md'), 'utf8')).toContain('    Do it.')
    for (const line of ['deliverables/report.txt', 'runs/demo-001', 'glovebox runs verify', 'glovebox runs replay'])
      expect(done.stderr).toContain(line)
  })

  it('records backend, mounts, policy and plan in the sandbox manifest, the same for the same config', async () => {
    const flags = ['--memory', '512m', '--env', 'TOKEN=hush-hush']
    for (const name of ['one', 'two']) expect(await ground.shell(name, 'true', ...flags)).toMatchObject({ code: 0 })
    const [one, two] = ['one', 'two'].map((name) => {
      const text = readFileSync(join(ground.place(name), 'sandbox-manifest.json'), 'utf8')
      return sandboxManifestSchema.parse(JSON.parse(text))
    })
    expect(one).toMatchObject({ backend: 'bwrap', backend_version: expect.stringMatching(/^\d/), cwd: '/workspace' })
    expect(one?.mounts.slice(0, 2)).toEqual([
      { guest_path: '/workspace', host_path: 'workspace', mode: 'rw' },
      { guest_path: '/deliverables', host_path: 'deliverables', mode: 'rw' },
    ])
    expect(one?.policy.find(({ field }) => field === 'memoryMb')).toMatchObject({
      value: 512,
      layer: 'settings',
      source: '--memory',
    })
    expect(one?.environment).toContain('TOKEN')
    expect(one?.plan_fingerprint).toBe(two?.plan_fingerprint)
    expect(recordOf(ground.place('one')).config_fingerprint).toBe(recordOf(ground.place('two')).config_fingerprint)
    const found = [...treeOf(ground.place('one'))].filter(([, content]) => content.includes('hush-hush'))
    expect(found.map(([name]) => name)).toEqual([])
  })

  it('makes a directory below runs/ under a new id where none was named', async () => {
    const done = await ground.glovebox(['run', '--prompt', 'x', '--json', '--', 'true'])
    const record = runRecordSchema.parse(JSON.parse(done.stdout))
    expect(readdirSync(join(ground.directory, 'runs'))).toEqual([record.run_id])
    await expectWhole(ground.place(record.run_id))
  })

  it('ends as failed with the exit code of its command', async () => {
    const done = await ground.shell('broken', 'echo oh >&2; exit 7')
    expect(done).toMatchObject({ code: 7 })
    expect(done.stderr).toMatch(/^oh$/m)
    const directory = ground.place('broken')
    await expectWhole(directory)
    expect(recordOf(directory)).toMatchObject({ status: 'failed', failure_reason: 'exit_nonzero' })
  })

  it('ends as failed when the time of its command is over', async () => {
    const done = await ground.shell('slow', 'sleep 60', '--timeout', '300ms')
    expect(done.code).toBe(124)
    await expectWhole(ground.place('slow'))
    expect(recordOf(ground.place('slow'))).toMatchObject({ status: 'failed', failure_reason: 'timeout' })
  })

  it('is cancelled by Ctrl-C, and nothing of it runs on', async () => {
    const directory = ground.place('stopped')
    const { child, finished } = ground.start(sleeping('stopped'))
    await atWork(directory)
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 130 })
    await expectWhole(directory)
    expect(recordOf(directory)).toMatchObject({ status: 'cancelled' })
    const ended = eventsOf(directory).find(({ type }) => type === 'action_ended')
    expect(ended?.data['ended']).toMatchObject({ by: 'cancel' })
  })

  it('is cancelled by a word from another process', async () => {
    const directory = ground.place('called-off')
    const { finished } = ground.start(sleeping('called-off'))
    await atWork(directory)
    expect(await ground.glovebox(['runs', 'cancel', 'called-off'])).toMatchObject({ code: 0 })
    expect(await finished).toMatchObject({ code: 130 })
    await expectWhole(directory)
    expect(recordOf(directory).status).toBe('cancelled')
    expect(eventsOf(directory).map(({ type }) => type)).toContain('cancel_requested')
  })

  it('is lost when its process is killed, and whoever opens it next writes that down', async () => {
    const directory = ground.place('killed')
    const { child, finished } = ground.start(sleeping('killed'))
    await atWork(directory)
    child.kill('SIGKILL')
    await finished
    expect(recordOf(directory).status).toBe('running')
    const { run, repairs } = await openRun(directory)
    await run.close()
    expect(repairs.join()).toContain('lost')
    await expectWhole(directory)
    expect(recordOf(directory)).toMatchObject({ status: 'lost', failure_reason: 'server_crash' })
  })

  it('refuses a directory that exists, and leaves it untouched', async () => {
    mkdirSync(ground.place('taken'), { recursive: true })
    writeFileSync(join(ground.place('taken'), 'mine.txt'), 'mine')
    expect(await ground.shell('first', 'true', '--run-id', 'same')).toMatchObject({ code: 0 })
    const before = treeOf(join(ground.directory, 'runs'))
    for (const name of ['taken', 'first']) {
      const done = await ground.shell(name, 'touch /deliverables/x')
      expect(done.code).toBe(125)
      expect(done.stderr).toContain('already')
    }
    expect(treeOf(join(ground.directory, 'runs'))).toEqual(before)
  })

  it('the guest can change neither prompt nor config, and sees nothing else of the run directory', async () => {
    const attempts = [
      'echo x >>"$GLOVEBOX_PROMPT_FILE"',
      'rm -f "$GLOVEBOX_PROMPT_FILE"',
      'mv "$GLOVEBOX_PROMPT_FILE" /workspace/',
      'chmod 666 "$GLOVEBOX_PROMPT_FILE"',
      'echo x >"$(dirname "$GLOVEBOX_PROMPT_FILE")/more"',
      'ln "$GLOVEBOX_PROMPT_FILE" /workspace/link',
      'echo x >/workspace/../config.yaml',
      'echo x >/deliverables/../prompt.md',
    ].map(
      (attempt) =>
        `if (${attempt}) 2>/dev/null; then echo "done: ${attempt.replaceAll('"', '').replaceAll('$', '')}"; fi`,
    )
    // The agent's own catalog has events, too.
    const find = 'find / -path /workspace/.glovebox -prune -o "(" -name events.jsonl -o -name run.json ")" -print'
    const look = `echo seen; ls -A "$(dirname "$GLOVEBOX_PROMPT_FILE")"; ${find} 2>/dev/null`
    // Control: the same writes succeed where they are meant to.
    const control = 'echo x >/workspace/mine && mv /workspace/mine /deliverables/ && echo may'
    const done = await ground.shell('kept', [...attempts, look, control, 'true'].join('\n'))
    expect(done).toMatchObject({ code: 0, stdout: 'seen\nprompt.md\nmay\n' })
    await expectWhole(ground.place('kept'))
    expect(readFileSync(join(ground.place('kept'), 'prompt.md'), 'utf8')).toBe('Do it.')
    for (const name of ['prompt.md', 'config.yaml', 'task.yaml', 'session.json'])
      expect(lstatSync(join(ground.place('kept'), name)).mode & 0o222).toBe(0)
  })

  it('a mount that shows the place of the run does not show the run', async () => {
    const script = 'ls /repo /repo/runs; ls -A /repo/runs/own; cat /repo/runs/own/run.json'
    writeFileSync(join(ground.directory, 'seen.txt'), '')
    const done = await ground.shell('own', `${script}; true`, '--mount', '/repo=.:ro')
    expect(done.code).toBe(0)
    // Control: what lies beside it is seen.
    expect(done.stdout).toContain('seen.txt')
    expect(done.stdout).not.toContain('run.json')
    expect(done.stdout).not.toContain('run_id')
    const refused = await ground.shell('other', 'true', '--mount', '/repo=.')
    expect(refused.code).toBe(125)
    expect(refused.stderr).toContain('read-only')
    expect(existsSync(ground.place('other'))).toBe(false)
  })

  it.each([
    ['deliverable_missing', 'true'],
    ['deliverable_empty', ': >/deliverables/report.txt'],
    ['deliverable_symlink', 'echo x >/workspace/real; ln -s /workspace/real /deliverables/report.txt'],
    ['deliverable_outside', 'echo x >/workspace/report.txt'],
    ['deliverable_not_a_file', 'mkdir /deliverables/report.txt'],
  ])('fails with %s although its command ended well', async (reason, script) => {
    ground.settings('deliverables: [report.txt]\n')
    const done = await ground.shell('owing', script)
    expect(done.code).toBe(1)
    expect(done.stderr).toContain(reason)
    await expectWhole(ground.place('owing'))
    expect(recordOf(ground.place('owing'))).toMatchObject({ status: 'failed', failure_reason: reason })
  })

  it('takes an empty deliverable where that is allowed', async () => {
    ground.settings('deliverables: [{ path: /deliverables/report.txt, allowEmpty: true }]\n')
    expect(await ground.shell('empty', ': >/deliverables/report.txt')).toMatchObject({ code: 0 })
  })

  it('waits for review where the settings ask for it', async () => {
    ground.settings('review: true\n')
    const done = await ground.shell('waiting', 'echo x >/deliverables/x')
    expect(done.code).toBe(0)
    expect(done.stderr).toContain('glovebox runs approve runs/waiting')
    expect(recordOf(ground.place('waiting')).status).toBe('review_required')
    expect(await ground.glovebox(['runs', 'approve', 'waiting'])).toMatchObject({ code: 0 })
    await expectWhole(ground.place('waiting'))
    expect(recordOf(ground.place('waiting')).status).toBe('completed')
  })

  it('is done again with what a person wrote, as another run of the same task and config', async () => {
    const flags = ['--memory', '512m', '--task-id', 'the-task', '--run-id', 'first']
    ground.settings('review: true\ndeliverables: [x]\n')
    expect(await ground.shell('first', 'cp "$GLOVEBOX_PROMPT_FILE" /deliverables/x', ...flags)).toMatchObject({
      code: 0,
    })
    expect(await ground.glovebox(['runs', 'revise', 'first', '--message', 'Shorter.'])).toMatchObject({ code: 0 })
    ground.settings('review: false\n')
    expect(await ground.glovebox(['run', '--revises', 'first', '--sandbox', 'runs/second'])).toMatchObject({ code: 0 })
    expect(recordOf(ground.place('second'))).toMatchObject({
      task_id: 'the-task',
      revision_of: 'first',
      status: 'review_required',
    })
    expect(readFileSync(join(ground.place('second'), 'deliverables/x'), 'utf8')).toContain('Shorter.')
    expect(recordOf(ground.place('first')).status).toBe('revision_required')
  })

  it('ends at Ctrl-C while it waits for a prompt that never comes', async () => {
    const { child, finished } = ground.start(['run', '--', 'true'], { input: 'open' })
    // It listens for signals before it reads.
    await until('it waits for its input', () => isWaitingForInput(child.pid ?? 0))
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 130 })
    expect(existsSync(join(ground.directory, 'runs'))).toBe(false)
  })

  it('takes its prompt from a file and from a pipe', async () => {
    writeFileSync(join(ground.directory, 'task.md'), 'From a file.\n')
    const show = ['--', 'sh', '-c', 'cat "$GLOVEBOX_PROMPT_FILE"']
    expect(await ground.glovebox(['run', '--prompt-file', 'task.md', ...show])).toMatchObject({
      stdout: 'From a file.\n',
    })
    const input = Buffer.from('From a pipe: ü.\n')
    expect(await ground.glovebox(['run', ...show], { input })).toMatchObject({ stdout: 'From a pipe: ü.\n' })
    expect(await ground.glovebox(['run', '--prompt-file', '-', ...show], { input })).toMatchObject({
      stdout: 'From a pipe: ü.\n',
    })
  })

  it('hands a pipe on to its command where the prompt came by a flag, and keeps what went through', async () => {
    const flags = ['run', '--prompt', 'Count.', '--sandbox', 'runs/piped', '--', 'wc', '-c']
    expect(await ground.glovebox(flags, { input: Buffer.from('12345') })).toMatchObject({ code: 0, stdout: '5\n' })
    expect(readFileSync(join(ground.place('piped'), 'logs/actions/000001/stdin'), 'utf8')).toBe('12345')
  })

  it('prints run.json and nothing else with --json', async () => {
    const done = await ground.shell('json', 'echo loud; exit 3', '--json')
    expect(done.code).toBe(3)
    expect(JSON.parse(done.stdout)).toEqual(recordOf(ground.place('json')))
  })

  it('prints every event as a line with --json-events, as the log has them', async () => {
    const done = await ground.shell('lines', 'echo loud', '--json-events')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    const events = done.stdout
      .trimEnd()
      .split('\n')
      .map((line) => eventSchema.parse(JSON.parse(line)))
    expect(events).toEqual(eventsOf(ground.place('lines')))
  })

  it('passes on all that its command says, says where it was cut, and what was denied', async () => {
    const much = await ground.shell('much', 'head -c 900000 /dev/zero; exit 0')
    expect(much).toMatchObject({ code: 0, stdout: '\0'.repeat(900_000) })
    const more = await ground.shell('more', 'head -c 20000 /dev/zero; echo x >/etc/passwd', '--max-stdout', '10k')
    expect(more.code).not.toBe(0)
    expect(more.stdout).toHaveLength(10_240)
    expect(more.stderr).toContain('glovebox: stdout was cut: 10 KiB of 19.5 KiB are shown.')
    expect(more.stderr).toContain('glovebox: denied file.write /etc/passwd')
  })

  it('brings inputs into the workspace by recorded actions', async () => {
    mkdirSync(join(ground.directory, 'kit/tools'), { recursive: true })
    writeFileSync(join(ground.directory, 'kit/tools/hello.sh'), '#!/bin/sh\necho hello\n', { mode: 0o755 })
    writeFileSync(join(ground.directory, 'job.sh'), './kit/tools/hello.sh\n')
    ground.settings('inputs: [job.sh]\nexecutor: { command: [sh, job.sh] }\n')
    const done = await ground.glovebox(['run', '--prompt', 'x', '--input', 'kit', '--sandbox', 'runs/given'])
    expect(done).toMatchObject({ code: 0, stdout: 'hello\n' })
    const actions = eventsOf(ground.place('given')).filter(({ type }) => type === 'action_started')
    expect(actions.map(({ data }) => data['action'])).toEqual(['write_bytes', 'write_bytes', 'run', 'run'])
  })

  it('leaves nothing of HOME, and no stand-in, in the run', async () => {
    expect(await ground.shell('tidy', 'echo x >"$HOME/secret"; echo y >made')).toMatchObject({ code: 0 })
    expect(readdirSync(join(ground.place('tidy'), 'workspace'))).toEqual(['made'])
    expect(readdirSync(join(ground.place('tidy'), 'deliverables'))).toEqual([])
    const changes = readFileSync(join(ground.place('tidy'), 'logs/actions/000001/changes.json'), 'utf8')
    expect((JSON.parse(changes) as { changes: { path: string }[] }).changes.map(({ path }) => path)).toEqual([
      'workspace/made',
    ])
  })

  it('stands in the audit log with its creation and its end', async () => {
    expect(await ground.shell('noted', 'true', '--run-id', 'noted')).toMatchObject({ code: 0 })
    const shown = await ground.glovebox(['audit', 'show', '--json'])
    const records = shown.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const own = records.filter(({ subject }) => subject === 'noted')
    expect(own.map(({ action, outcome }) => `${String(action)} ${String(outcome)}`)).toEqual([
      'run.create intent',
      'run.create done',
      'run.end intent',
      'run.end done',
    ])
    expect(own.at(-1)?.['data']).toMatchObject({
      status: 'completed',
      hash: recordOf(ground.place('noted')).state_hash,
    })
  })
})

describe('glovebox run refuses before a directory is made', () => {
  const cases: readonly (readonly [string, string, readonly string[], string])[] = [
    ['without anybody to do the work', '{}', [], 'executor.command'],
    ['a model without settings', '{}', ['--executor', 'model'], 'model:'],
    [
      'a model without a key',
      'model: { baseUrl: "http://127.0.0.1:9/v1", model: m, apiKeyEnv: GLOVEBOX_TEST_NO_KEY }',
      ['--executor', 'model'],
      'GLOVEBOX_TEST_NO_KEY',
    ],
    ['an unknown setting', 'deliverable: [x]', ['--', 'true'], 'Did you mean "deliverables"'],
    ['an unknown setting of the executor', 'executor: { comand: [x] }', ['--', 'true'], 'Did you mean "command"'],
    ['a run id that is no file name', '{}', ['--run-id', '../x', '--', 'true'], 'run id'],
    ['a backend that does not exist', '{}', ['--backend', 'bwarp', '--', 'true'], 'bwrap'],
    ['a mount over its own places', '{}', ['--mount', '/deliverables=.', '--', 'true'], 'belongs to the run'],
    ['inputs that do not exist', 'inputs: [gone.py]', ['--', 'true'], 'does not exist'],
    ['inputs of a flag that do not exist', '{}', ['--input', 'gone', '--', 'true'], 'begins at the current directory'],
    ['a deliverable outside', 'deliverables: [../x]', ['--', 'true'], 'below deliverables/'],
  ]
  it.each(cases)('%s', async (_, settings, flags, told) => {
    ground.settings(`${settings}\n`)
    const done = await ground.glovebox(['run', '--prompt', 'x', ...flags])
    expect(done.code).toBe(125)
    expect(done.stderr).toContain(told)
    expect(existsSync(join(ground.directory, 'runs'))).toBe(false)
  })

  it('a run without a prompt', async () => {
    const done = await ground.glovebox(['run', '--', 'true'])
    expect(done).toMatchObject({ code: 125 })
    expect(done.stderr).toContain('--prompt')
    expect(existsSync(join(ground.directory, 'runs'))).toBe(false)
  })

  it('a run that the audit log cannot take', async () => {
    writeFileSync(join(ground.outside, 'state/audit'), 'in the way')
    const done = await ground.shell('unwitnessed', 'true')
    expect(done.code).toBe(125)
    expect(existsSync(ground.place('unwitnessed'))).toBe(false)
  })
})
