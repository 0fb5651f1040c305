// `POST /sandbox/execs` and what can be asked of an exec, through the real server on bubblewrap.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecArtifacts, ExecHealth, ExecManifest, ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer({ settings: 'sandbox:\n  max_concurrent_execs: 2\n' })
})
afterAll(() => server.remove())

const place = (exec: ExecRecord, ...names: readonly string[]): string =>
  join(server.workspace, exec.artifacts_dir, ...names)
const read = (exec: ExecRecord, name: string): string => readFileSync(place(exec, name), 'utf8')
const output = async (exec: ExecRecord, name: 'stdout' | 'stderr' = 'stdout'): Promise<string> =>
  (await server.ask('GET', `/sandbox/execs/${exec.exec_id}/${name}`)).text
const codeIn = (value: unknown): string => (value as { error: { code: string } }).error.code

describe('POST /sandbox/execs', () => {
  it('runs a script in bash, and answers with where everything lies', async () => {
    const exec = await server.exec(shell('echo out; echo err >&2; echo kept > /workspace/artifacts/a.txt; exit 3'))
    expect(exec).toMatchObject({
      status: 'FAILED',
      exit_code: 3,
      error_reason: 'exit_nonzero',
      cmd: 'bash',
      backend: 'bwrap',
    })
    expect(exec.artifacts_dir).toBe(`projects/demo/artifacts/${exec.exec_id}`)
    expect(readFileSync(join(server.workspace, exec.stdout_path), 'utf8')).toBe('out\n')
    expect(readFileSync(join(server.workspace, exec.stderr_path), 'utf8')).toBe('err\n')
    expect(readdirSync(place(exec)).toSorted()).toEqual([
      'files',
      'manifest.json',
      'meta.json',
      'stderr.txt',
      'stdout.txt',
    ])
    expect(await output(exec, 'stderr')).toBe('err\n')
  })

  it('runs python code, and a file that came with the request', async () => {
    const code = await server.exec({
      project_id: 'demo',
      exec: { kind: 'python', command: 'import sys; print(6*7, sys.argv[1:])', args: ['x'] },
    })
    expect([code.status, await output(code)]).toEqual(['SUCCEEDED', "42 ['x']\n"])
    const file = await server.exec({
      project_id: 'demo',
      exec: { kind: 'python', command: 'python', args: ['/workspace/inputs/job/main.py'] },
      inputs: [
        { path: 'job/main.py', content: "print(open('/workspace/inputs/job/data.bin','rb').read())" },
        { path: 'job/data.bin', content_base64: Buffer.from([0, 255]).toString('base64') },
      ],
    })
    expect([file.status, await output(file)]).toEqual(['SUCCEEDED', "b'\\x00\\xff'\n"])
  })

  it('shows the guest its three directories, the inputs read-only, and nothing of the server', async () => {
    const exec = await server.exec(
      shell(
        'pwd; ls /workspace; touch /workspace/inputs/x; echo $?; touch /workspace/work/y && ls -A /workspace/artifacts',
      ),
    )
    expect(await output(exec)).toMatch(/^\/workspace\/work\nartifacts\ninputs\nwork\n1\n/)
    expect(await output(exec)).not.toMatch(/stdout|meta|manifest/)
  })

  it('honours exec.cwd, and refuses one outside', async () => {
    const exec = await server.exec({
      project_id: 'demo',
      exec: { kind: 'shell', command: 'pwd', cwd: '/workspace/artifacts' },
    })
    expect(await output(exec)).toBe('/workspace/artifacts\n')
    for (const cwd of ['/etc', '..', '/workspace', '/workspace/work/../../tmp']) {
      const answered = await server.ask('POST', '/sandbox/execs', {
        body: { exec: { kind: 'shell', command: 'pwd', cwd } },
      })
      expect([answered.status, codeIn(answered.json)], cwd).toEqual([400, 'INVALID_PATH'])
    }
    const gone = await server.exec({ project_id: 'demo', exec: { kind: 'shell', command: 'pwd', cwd: 'not/there' } })
    expect(gone).toMatchObject({ status: 'FAILED', error_reason: 'not_found', exit_code: null })
    // A link is followed in the guest's view, in which the host's directories are not.
    await server.exec(shell(`ln -sfn ${server.place} leads-out; mkdir -p goes; ln -sfn goes leads-in`))
    const led = (cwd: string) =>
      server.exec({ project_id: 'demo', exec: { kind: 'shell', command: 'ls -A; pwd -P', cwd } })
    expect(await led('leads-out')).toMatchObject({ status: 'FAILED', exit_code: null })
    expect(await output(await led('leads-in'))).toBe('/workspace/work/goes\n')
  })

  it('keeps work/ from one exec to the next, in one project and no other', async () => {
    await server.exec({ ...shell('echo mine > note'), project_id: 'one' })
    expect(await output(await server.exec({ ...shell('cat note'), project_id: 'one' }))).toBe('mine\n')
    expect((await server.exec({ ...shell('cat note'), project_id: 'two' })).exit_code).toBe(1)
  })

  it('takes the conversation for the project where none is named', async () => {
    const exec = await server.exec({
      exec: { kind: 'shell', command: 'true' },
      task_ref: { conversation_id: 'chat-7', task_id: 'task-1' },
    })
    expect(exec).toMatchObject({ project_id: 'chat-7', conversation_id: 'chat-7', task_id: 'task-1' })
  })

  it('refuses inputs that lead elsewhere, and writes nothing', async () => {
    for (const path of ['../x', '/etc/x', '', 'a/../../x', 'a\0b', './x', 'a//b']) {
      const body = {
        ...shell('true'),
        project_id: 'refused',
        inputs: [
          { path: 'good.txt', content: 'x' },
          { path, content: 'x' },
        ],
      }
      const answered = await server.ask('POST', '/sandbox/execs', { body })
      expect([answered.status, codeIn(answered.json)], path).toEqual([400, 'INVALID_PATH'])
    }
    expect(existsSync(join(server.workspace, 'projects/refused/inputs/good.txt'))).toBe(false)
  })

  it.each([
    ['no exec', 'INVALID_INPUT', {}],
    ['an unknown field', 'UNKNOWN_FIELD', { exec: { kind: 'shell', command: 'true' }, privileged: true }],
    ['an unknown kind', 'INVALID_INPUT', { exec: { kind: 'node', command: 'true' } }],
    ['a project that is a path', 'INVALID_INPUT', { ...shell('true'), project_id: '../x' }],
    ['a negative time', 'INVALID_INPUT', { ...shell('true'), policy_overrides: { timeout_ms: -1 } }],
    ['no time', 'INVALID_INPUT', { ...shell('true'), policy_overrides: { timeout_ms: 0 } }],
    ['a time that is text', 'INVALID_INPUT', { ...shell('true'), policy_overrides: { timeout_ms: '5' } }],
    ['an unknown limit', 'UNKNOWN_FIELD', { ...shell('true'), policy_overrides: { user: 0 } }],
    ['a variable with a bad name', 'INVALID_ENV', { exec: { kind: 'shell', command: 'true', env: { 'A=B': 'x' } } }],
    [
      'a variable whose name is too long',
      'INVALID_ENV',
      { exec: { kind: 'shell', command: 'true', env: { ['A'.repeat(300)]: 'x' } } },
    ],
    [
      'a variable that is too large',
      'INVALID_ENV',
      { exec: { kind: 'shell', command: 'true', env: { A: 'x'.repeat(200_000) } } },
    ],
    ['a variable with a NUL', 'INVALID_ENV', { exec: { kind: 'shell', command: 'true', env: { A: 'x\0y' } } }],
    ['an image where there are none', 'INVALID_INPUT', { ...shell('true'), image: '--privileged' }],
    [
      'an input with two contents',
      'INVALID_INPUT',
      { ...shell('true'), inputs: [{ path: 'a', content: '', content_base64: '' }] },
    ],
  ])('answers 400 to %s, %s', async (_, code, body) => {
    const answered = await server.ask('POST', '/sandbox/execs', { body })
    expect([answered.status, codeIn(answered.json)]).toEqual([400, code])
  })

  it('refuses more than the operator allows, and keeps a record of it', async () => {
    const asked = [
      { timeout_ms: 300_001 },
      { memory_mb: 1_000_000 },
      { net: { mode: 'full' } },
      { max_artifacts_bytes_total: 10 ** 10 },
    ]
    for (const policy_overrides of asked) {
      const { status, json } = await server.ask('POST', '/sandbox/execs', {
        body: { ...shell('true'), policy_overrides },
      })
      const { error } = json as { error: { code: string; facts: { exec_id: string } } }
      expect([status, error.code]).toEqual([403, 'POLICY_ESCALATION'])
      expect(await server.get(error.facts.exec_id)).toMatchObject({
        status: 'POLICY_DENIED',
        error_reason: 'policy_escalation',
      })
    }
    const again = { body: { ...shell('true'), policy_overrides: asked[0] }, headers: { 'idempotency-key': 'refused' } }
    const [one, two] = [
      await server.ask('POST', '/sandbox/execs', again),
      await server.ask('POST', '/sandbox/execs', again),
    ]
    const recordIn = ({ json }: typeof one): string =>
      (json as { error: { facts: { exec_id: string } } }).error.facts.exec_id
    expect([one.status, two.status, recordIn(two)]).toEqual([403, 403, recordIn(one)])
  })

  it('the record holds the policy in force, not the request', async () => {
    const exec = await server.exec({ ...shell('true'), policy_overrides: { timeout_ms: 5000, pids: 20 } })
    expect(exec.policy_snapshot).toMatchObject({
      timeout_ms: 5000,
      pids: 20,
      memory_mb: 1024,
      net: { mode: 'none', allow: [] },
    })
  })

  it('tells a timeout, a want of memory and a signal apart', async () => {
    expect(await server.exec({ ...shell('sleep 30'), policy_overrides: { timeout_ms: 400 } })).toMatchObject({
      status: 'TIMEOUT',
      exit_code: null,
    })
    const greedy = 'x = bytearray(400 * 1024 * 1024)'
    const body = { project_id: 'demo', exec: { kind: 'python', command: greedy }, policy_overrides: { memory_mb: 64 } }
    expect(await server.exec(body)).toMatchObject({ status: 'OOM', exit_code: 137 })
    expect(await server.exec(shell('kill -TERM $$; sleep 5'))).toMatchObject({
      status: 'FAILED',
      error_reason: 'signal',
      exit_code: 143,
    })
  })

  it('truncates output without ending the command', async () => {
    const script =
      'head -c 3000 /dev/zero | tr "\\0" x; echo done > /workspace/artifacts/done; head -c 9 /dev/zero >&2; exit 5'
    const exec = await server.exec({ ...shell(script), policy_overrides: { max_stdout_bytes: 1000 } })
    expect(exec).toMatchObject({ exit_code: 5, stdout_truncated: true, stderr_truncated: false })
    expect(await output(exec)).toBe('x'.repeat(1000))
    expect((await server.ask('GET', `/sandbox/execs/${exec.exec_id}/artifacts/done`)).text).toBe('done\n')
  })

  it('holds the limit on artifacts, while the command runs and at its end', async () => {
    const policy_overrides = { max_artifacts_bytes_total: 100_000 }
    const at = '/workspace/artifacts'
    const small = await server.exec({
      ...shell(`mkdir -p ${at}/d && head -c 60000 /dev/zero > ${at}/d/a; head -c 90000 /dev/zero > big-in-work`),
      policy_overrides,
    })
    expect(small.status).toBe('SUCCEEDED')
    const quick = await server.exec({
      ...shell(`mkdir -p ${at}/d && head -c 60000 /dev/zero > ${at}/d/a; head -c 60000 /dev/zero > ${at}/b`),
      policy_overrides,
    })
    // Whoever looks meanwhile may just have seen it, and ended it a moment before it ended by itself.
    const exit_code = expect.toBeOneOf([0, null]) as unknown
    expect(quick).toMatchObject({ status: 'FAILED', error_reason: 'artifacts_limit_exceeded', exit_code })
    const endless = await server.exec({
      ...shell(`while :; do head -c 9000 /dev/zero >> ${at}/a; sleep 0.01; done`),
      policy_overrides,
    })
    expect(endless).toMatchObject({ status: 'FAILED', error_reason: 'artifacts_limit_exceeded', exit_code: null })
    for (const exec of [quick, endless]) {
      const manifest = JSON.parse(read(exec, 'manifest.json')) as ExecManifest
      expect(manifest).toMatchObject({ over_limit: true, complete: false })
      expect(manifest.total_bytes).toBeLessThanOrEqual(100_000)
    }
  })

  it('under one Idempotency-Key there is one exec, however often it is sent', async () => {
    const headers = { 'idempotency-key': 'key-1' }
    const body = shell('echo once >> count; cat count')
    const all = await Promise.all(
      Array.from({ length: 20 }, () => server.exec({ ...body, project_id: 'once' }, headers)),
    )
    expect(new Set(all.map((exec) => JSON.stringify(exec))).size).toBe(1)
    expect(all[0]?.status).toBe('SUCCEEDED')
    expect(readFileSync(join(server.workspace, 'projects/once/work/count'), 'utf8')).toBe('once\n')
    const other = await server.ask('POST', '/sandbox/execs', {
      body: { ...shell('true'), project_id: 'once' },
      headers,
    })
    expect([other.status, codeIn(other.json)]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    const bad = await server.ask('POST', '/sandbox/execs', { body, headers: { 'idempotency-key': 'a b' } })
    expect(bad.status).toBe(400)
  })
})

describe('an exec', () => {
  it('is listed by its task, in pages', async () => {
    const made = []
    for (let index = 0; index < 5; index++)
      made.push(await server.exec({ ...shell(`echo ${index}`), project_id: 'pages', task_ref: { task_id: 'many' } }))
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { json } = await server.ask('GET', `/sandbox/execs?task_id=many&limit=2${query}`)
      const page = json as { items: ExecRecord[]; next_cursor: string | null }
      seen.push(...page.items.map(({ exec_id }) => exec_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual(made.map(({ exec_id }) => exec_id).toReversed())
    expect((await server.ask('GET', '/sandbox/execs?task_id=none')).json).toEqual({ items: [], next_cursor: null })
    expect((await server.ask('GET', '/sandbox/execs?cursor=made.up')).status).toBe(400)
    expect((await server.ask('GET', '/sandbox/execs?limit=-1')).status).toBe(400)
    // What no exec can have is not looked for: PostgreSQL takes no NUL.
    for (const skill of ['%00', 'x', 'Shell.Run', 'a..b'])
      expect((await server.ask('GET', `/sandbox/execs?skill_id=${skill}`)).status).toBe(400)
    expect((await server.ask('GET', '/sandbox/execs?skill_id=shell.run')).status).toBe(200)
  })

  it('meta.json says what the row says, and the manifest what is there', async () => {
    const exec = await server.exec(
      shell('mkdir -p /workspace/artifacts/d; printf abc > /workspace/artifacts/d/f; ln -s f /workspace/artifacts/d/l'),
    )
    const { layout, image_asked, boundary_id, mounts, ...rest } = JSON.parse(read(exec, 'meta.json')) as ExecMeta
    expect(rest).toEqual(await server.get(exec.exec_id))
    expect([layout, image_asked, typeof boundary_id]).toEqual([1, null, 'string'])
    expect(mounts.map(({ guest_path, mode }) => [guest_path, mode])).toEqual([
      ['/workspace/inputs', 'ro'],
      ['/workspace/work', 'rw'],
      ['/workspace/artifacts', 'rw'],
    ])
    expect(JSON.stringify(mounts)).not.toContain(server.place)
    const { entries } = JSON.parse(read(exec, 'manifest.json')) as ExecManifest
    expect(entries.map(({ path, kind }) => `${kind} ${path}`)).toEqual(['directory d', 'file d/f', 'symlink d/l'])
    expect(entries[1]?.sha256).toBe(createHash('sha256').update('abc').digest('hex'))
  })

  it('shows records and files under one list, and gives ranges of both', async () => {
    const exec = await server.exec(
      shell('printf 0123456789 > /workspace/artifacts/digits; printf mine > /workspace/artifacts/meta.json; echo out'),
    )
    const base = `/sandbox/execs/${exec.exec_id}/artifacts`
    const { entries } = (await server.ask('GET', base)).json as ExecArtifacts
    expect(entries.map(({ by, path }) => `${by} ${path}`)).toEqual([
      'server stdout.txt',
      'server stderr.txt',
      'server manifest.json',
      'server meta.json',
      'guest digits',
      'guest meta.json',
    ])
    const range = await server.ask('GET', `${base}/digits`, { headers: { range: 'bytes=2-4' } })
    expect([range.status, range.text, range.headers.get('content-range')]).toEqual([206, '234', 'bytes 2-4/10'])
    expect((await server.ask('GET', `${base}/digits`, { headers: { range: 'bytes=50-' } })).status).toBe(416)
    expect(JSON.parse((await server.ask('GET', `${base}/meta.json`)).text)).toMatchObject({ exec_id: exec.exec_id })
    expect((await server.ask('GET', `${base}/meta.json?by=guest`)).text).toBe('mine')
    expect((await server.ask('GET', `${base}/none`)).status).toBe(404)
    for (const path of ['..%2f..%2fx', '%2fetc%2fpasswd', 'a%00b'])
      expect((await server.ask('GET', `${base}/${path}`)).status, path).toBe(400)
  })

  it('gives its outputs whole and in ranges', async () => {
    const exec = await server.exec(shell('printf 0123456789; printf abc >&2'))
    const ask = (stream: string, range?: string) =>
      server.ask('GET', `/sandbox/execs/${exec.exec_id}/${stream}`, range === undefined ? {} : { headers: { range } })
    for (const [stream, text] of [
      ['stdout', '0123456789'],
      ['stderr', 'abc'],
    ] as const) {
      const whole = await ask(stream)
      expect([whole.status, whole.text, whole.headers.get('accept-ranges')]).toEqual([200, text, 'bytes'])
      const part = await ask(stream, 'bytes=1-2')
      const { headers } = part
      expect([part.status, part.text, headers.get('content-range')]).toEqual([
        206,
        text.slice(1, 3),
        `bytes 1-2/${text.length}`,
      ])
      expect((await ask(stream, 'bytes=-2')).text).toBe(text.slice(-2))
      const beyond = await ask(stream, 'bytes=50-')
      expect([beyond.status, codeIn(beyond.json)]).toEqual([416, 'RANGE_NOT_SATISFIABLE'])
    }
  })

  it('is cancelled while it runs and while it waits, once and again', async () => {
    const blockers = await Promise.all([1, 2].map(() => server.begin({ ...shell('sleep 60'), project_id: 'cancel' })))
    const queued = await server.begin({ ...shell('true'), project_id: 'cancel' })
    for (const { exec_id } of blockers) await server.until(exec_id, ({ status }) => status === 'RUNNING')
    expect((await server.get(queued.exec_id)).status).toBe('QUEUED')
    for (const { exec_id } of [queued, ...blockers]) {
      const first = await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
      expect([first.status, (first.json as ExecRecord).status]).toEqual([200, 'CANCELLED'])
      const second = await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
      expect([second.status, second.json]).toEqual([200, first.json])
      expect((JSON.parse(read(first.json as ExecRecord, 'meta.json')) as ExecMeta).status).toBe('CANCELLED')
    }
    const done = await server.exec(shell('true'))
    expect((await server.ask('POST', `/sandbox/execs/${done.exec_id}/cancel`)).json).toEqual(done)
    expect((await server.ask('POST', '/sandbox/execs/exec_00000000000000000000000000000000/cancel')).status).toBe(404)
  })

  it('health tells where execs run, and whether they can', async () => {
    const health = (await server.ask('GET', '/sandbox/health')).json as ExecHealth
    expect(health).toMatchObject({
      status: 'ok',
      runtime_mode: 'linux',
      workspace_root_native: server.workspace,
      workspace_writable: true,
    })
    expect(health.backends).toMatchObject([{ name: 'bwrap', available: true }])
    // A place is given back a moment after the answer of who had it.
    const execs = async () => ((await server.ask('GET', '/sandbox/health')).json as ExecHealth).execs
    await expect.poll(execs).toMatchObject({ running: 0, queued: 0, max_concurrent: 2 })
  })
})
