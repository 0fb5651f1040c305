// What `POST /sandbox/execs` refuses of a policy, and of what would be one elsewhere: with the exact code, and the field as the caller
// wrote it. docs/callers.md has the promise.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shell, startExecServer, type Answered, type ExecServer } from '../fixtures/exec-server.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

const ask = (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  server.ask('POST', '/sandbox/execs', { body, headers })
const asking = (policy_overrides: object): Promise<Answered> => ask(shell('true', { policy_overrides }))

interface Refusal {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly facts: Readonly<Record<string, unknown>>
}
const errorIn = ({ json }: Answered): Refusal => (json as { readonly error: Refusal }).error

interface AuditRow {
  readonly seq: number
  readonly actor: string
  readonly action: string
  readonly outcome: string
  readonly intent: number | null
  readonly data: Readonly<Record<string, unknown>>
}

function auditRows(): readonly AuditRow[] {
  const directory = join(server.place, 'state', 'audit')
  const segments = readdirSync(directory).filter((name) => name.startsWith('segment-'))
  const lines = segments.toSorted().flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
  return lines.map((line) => JSON.parse(line) as AuditRow)
}

const mebibyte = 1024 * 1024

describe('a value that no policy could have', () => {
  it.each([
    ['timeout_ms', -1],
    ['timeout_ms', 0],
    ['timeout_ms', '5'],
    ['timeout_ms', 1.5],
    ['timeout_ms', 3e9],
    ['timeout_ms', 1e12],
    ['timeout_ms', 1e308],
    ['timeout_ms', null],
    ['memory_mb', 0],
    ['memory_mb', 1e12],
    ['cpu_cores', 0],
    ['cpu_cores', -1],
    ['cpu_cores', 0.001],
    ['cpu_cores', 1e6],
    ['pids', 2 ** 22 + 1],
    ['file_size_mb', 2 ** 32 + 1],
    ['tmp_mb', 2 ** 32 + 1],
    ['shm_mb', 2 ** 32 + 1],
    ['max_stdout_bytes', 500 * mebibyte + 1],
    ['max_stderr_bytes', 500 * mebibyte + 1],
    ['max_artifacts_bytes_total', 2 ** 53],
    ['net', 'full'],
  ])('%s of %j is refused with the name of the field', async (name, value) => {
    const answer = await asking({ [name]: value })
    const { code, message, facts } = errorIn(answer)
    expect([answer.status, code, facts]).toEqual([400, 'INVALID_INPUT', { fields: [`policy_overrides.${name}`] }])
    expect(message).toContain(`policy_overrides.${name}: `)
  })

  it.each([
    [{ mode: 'open' }, 'mode'],
    [{}, 'mode'],
    [{ mode: 'allowlist', allow: 'x.example' }, 'allow'],
    [{ mode: 'allowlist', allow: Array.from({ length: 1001 }, (_, at) => `h${at}.example`) }, 'allow'],
    [{ mode: 'allowlist', allow: ['x.example', ''] }, 'allow.1'],
    [{ mode: 'allowlist', allow: ['x.example', 'a b'] }, 'allow.1'],
    [{ mode: 'allowlist', allow: ['evil\0.example'] }, 'allow.0'],
    [{ mode: 'allowlist', allow: ['x'.repeat(301)] }, 'allow.0'],
    [{ mode: 'none', allow: [] }, 'allow'],
    [{ mode: 'full', allow: ['x.example'] }, 'allow'],
  ])('a network of %j is refused with the name of the field', async (net, name) => {
    const answer = await asking({ net })
    const { code, message, facts } = errorIn(answer)
    const field = `policy_overrides.net.${name}`
    expect([answer.status, code, facts]).toEqual([400, 'INVALID_INPUT', { fields: [field] }])
    expect(message).toContain(`${field}: `)
  })

  it('of a number that JSON does not have is refused', async () => {
    for (const number of ['NaN', '1e999', '-Infinity', '0x10']) {
      const answer = await ask(`{"exec":{"kind":"shell","command":"true"},"policy_overrides":{"timeout_ms":${number}}}`)
      expect([answer.status, errorIn(answer).code], number).toEqual([400, 'INVALID_INPUT'])
    }
  })

  it('leaves no record', async () => {
    await ask({ ...shell('true'), project_id: 'unrecorded', policy_overrides: { timeout_ms: 3e9 } })
    const { json } = await server.ask('GET', '/sandbox/execs?project_id=unrecorded')
    expect(json).toEqual({ items: [], next_cursor: null })
  })
})

describe('a value above the ceiling', () => {
  it.each([
    ['timeout_ms', 300_001, 300_000, '300001 ms', '300000 ms'],
    ['memory_mb', 4097, 4096, '4097 MiB', '4096 MiB'],
    ['cpu_cores', 4.5, 4, '4.5 cores', '4 cores'],
    ['pids', 513, 512, '513 processes', '512 processes'],
    ['file_size_mb', 16_385, 16_384, '16385 MiB', '16384 MiB'],
    ['tmp_mb', 2049, 2048, '2049 MiB', '2048 MiB'],
    ['shm_mb', 1025, 1024, '1025 MiB', '1024 MiB'],
    ['max_stdout_bytes', 10 * mebibyte + 1, 10 * mebibyte, '10485761 bytes', '10 MiB'],
    ['max_stderr_bytes', 10 * mebibyte + 1, 10 * mebibyte, '10485761 bytes', '10 MiB'],
    ['max_artifacts_bytes_total', 200 * mebibyte + 1, 200 * mebibyte, '209715201 bytes', '200 MiB'],
  ])('%s of %d is refused with what was asked, what is allowed and by whom', async (name, asked, allowed, ...told) => {
    const answer = await asking({ [name]: asked })
    const { code, message, facts } = errorIn(answer)
    const field = `policy_overrides.${name}`
    expect([answer.status, code]).toEqual([403, 'POLICY_ESCALATION'])
    expect(facts).toEqual({
      field,
      fields: [field],
      asked,
      allowed,
      ceilingFrom: { layer: 'default', source: 'built in' },
      layer: 'request',
      source: 'policy_overrides',
      exec_id: expect.stringMatching(/^exec_/),
    })
    const [wanted, most] = told
    expect(message).toBe(
      `Cannot widen ${field}: request (policy_overrides) asked for ${wanted}, and default (built in) allows ${most}`,
    )
    // As much as is allowed is not refused.
    const most_ = await asking({ [name]: allowed, ...(name === 'timeout_ms' ? {} : { timeout_ms: 10_000 }) })
    expect([most_.status, (most_.json as { status: string }).status]).toEqual([200, 'SUCCEEDED'])
  })

  it.each([
    [{ mode: 'full' }, 'mode', { mode: 'full', allow: [] }],
    [{ mode: 'allowlist' }, 'mode', { mode: 'allowlist', allow: [] }],
    // Nothing is allowed by an empty list, and it is more than none: the way out would be there.
    [{ mode: 'allowlist', allow: [] }, 'mode', { mode: 'allowlist', allow: [] }],
    [{ mode: 'allowlist', allow: ['x.example'] }, 'mode', { mode: 'allowlist', allow: ['x.example'] }],
  ])('a network of %j is refused', async (net, name, asked) => {
    const answer = await asking({ net })
    const { code, message, facts } = errorIn(answer)
    expect([answer.status, code]).toEqual([403, 'POLICY_ESCALATION'])
    const field = 'policy_overrides.net'
    expect(facts).toMatchObject({ field, fields: [field], asked, allowed: { mode: 'none', allow: [] } })
    expect(message).toContain(`Cannot widen ${field}.${name}: `)
  })

  it('a secret that nobody granted is refused by the field that asked for it', async () => {
    const answer = await ask({ project_id: 'demo', exec: { kind: 'shell', command: 'true', secrets: ['keys/token'] } })
    const { code, message, facts } = errorIn(answer)
    expect([answer.status, code]).toEqual([403, 'POLICY_ESCALATION'])
    expect(facts).toMatchObject({ field: 'exec.secrets', fields: ['exec.secrets'], asked: ['keys/token'], allowed: [] })
    expect(message).toContain('Cannot widen exec.secrets: ')
  })

  it('is refused in the same words again under its key, and the operator is told the name of the setting', async () => {
    const key = { 'idempotency-key': 'too-long' }
    const body = shell('true', { policy_overrides: { timeout_ms: 300_001 } })
    const [first, second] = [await ask(body, key), await ask(body, key)]
    expect([first.status, second.status, errorIn(second).facts]).toEqual([403, 403, errorIn(first).facts])
    expect(errorIn(second).message).toBe(errorIn(first).message)
    expect(errorIn(first).hint).toContain('raise timeoutMs in the settings')
  })

  it('is in the audit log: who asked, by its request, and that it was refused by which code', async () => {
    const answer = await ask(
      shell('echo canary-of-the-audit', { project_id: 'audited', policy_overrides: { pids: 513 } }),
    )
    const { requestId } = (answer.json as { error: { requestId: string } }).error
    const rows = auditRows()
    const intent = rows.find(({ data }) => data['requestId'] === requestId)
    expect(intent).toMatchObject({ action: 'exec.run', outcome: 'intent', actor: expect.stringMatching(/^token:tok_/) })
    // The outcome is written before the answer goes out.
    const outcome = rows.find((row) => row.intent === intent?.seq)
    expect(outcome).toMatchObject({ action: 'exec.run', outcome: 'failed', data: { code: 'POLICY_ESCALATION' } })
    expect(JSON.stringify(rows)).not.toContain('canary-of-the-audit')
    const allowed = await ask(shell('true', { project_id: 'audited', policy_overrides: { pids: 512 } }))
    const done = auditRows().at(-1)
    expect([allowed.status, done]).toMatchObject([200, { action: 'exec.run', outcome: 'done' }])
  })
})

describe('what there is no field for', () => {
  const exec = { kind: 'shell', command: 'true' }
  it.each([
    ...[
      'runtime',
      'volumes',
      'mounts',
      'capAdd',
      'privileged',
      'devices',
      'user',
      'network',
      'toString',
      'constructor',
    ].map((name) => [name, { exec, [name]: 'x' }] as const),
    ['exec.user', { exec: { ...exec, user: 0 } }],
    ['exec.uid', { exec: { ...exec, uid: 0 } }],
    ['exec.shell', { exec: { ...exec, shell: '/bin/zsh' } }],
    ['policy_overrides.privileged', { exec, policy_overrides: { privileged: true } }],
    ['policy_overrides.timeoutMs', { exec, policy_overrides: { timeoutMs: 1000 } }],
    ['policy_overrides.network', { exec, policy_overrides: { network: { mode: 'none' } } }],
    ['policy_overrides.ceilings', { exec, policy_overrides: { ceilings: { timeoutMs: 1 } } }],
    ['policy_overrides.unprotect', { exec, policy_overrides: { unprotect: ['.git/hooks'] } }],
    ['policy_overrides.env', { exec, policy_overrides: { env: ['HOME'] } }],
    ['policy_overrides.secrets', { exec, policy_overrides: { secrets: ['keys/token'] } }],
    ['policy_overrides.delete', { exec, policy_overrides: { delete: true } }],
    ['policy_overrides.net.rules', { exec, policy_overrides: { net: { mode: 'none', rules: [] } } }],
    ['policy_overrides.net.allowed', { exec, policy_overrides: { net: { mode: 'allowlist', allowed: [] } } }],
    [
      'inputs.1.mode',
      {
        exec,
        inputs: [
          { path: 'a', content: '' },
          { path: 'b', content: '', mode: 0o4755 },
        ],
      },
    ],
    ['task_ref.project', { exec, task_ref: { project: 'other' } }],
  ] as const)('%s is refused by its name', async (field, body) => {
    const answer = await ask(body)
    const { code, message, facts } = errorIn(answer)
    expect([answer.status, code, facts]).toEqual([400, 'UNKNOWN_FIELD', { fields: [field] }])
    expect(message).toContain(field)
  })

  it('a query other than the one it has is refused, too', async () => {
    const answer = await server.ask('POST', '/sandbox/execs?privileged=true', { body: { exec } })
    expect([answer.status, errorIn(answer).code, errorIn(answer).facts]).toEqual([
      400,
      'UNKNOWN_FIELD',
      { fields: ['privileged'] },
    ])
  })
})

describe('a command that cannot be run', () => {
  it.each([
    ['exec.args', { kind: 'shell' }],
    ['exec.args', { kind: 'shell', command: 'bash', args: ['-c', 'true'] }],
    ['exec.args', { kind: 'python' }],
    ['exec.args.0', { kind: 'python', args: ['/etc/passwd'] }],
    ['exec.command', { kind: 'python', command: '/workspace/inputs/../work/x.py' }],
    ['exec.command', { kind: 'shell', command: '€'.repeat(43_691) }],
    ['exec.args.1', { kind: 'shell', command: 'true', args: ['x', '€'.repeat(43_691)] }],
    ['exec.command', { kind: 'shell', command: 'a\0b' }],
    ['exec.command', { kind: 'shell', command: 'x'.repeat(131_072) }],
    ['exec.args.0', { kind: 'shell', command: 'true', args: ['x'.repeat(131_072)] }],
    ['exec.kind', { kind: 'node', command: 'true' }],
  ])('by %s is refused with the name of the field', async (field, exec) => {
    const answer = await ask({ exec })
    const { code, message, facts } = errorIn(answer)
    expect([answer.status, code, facts]).toEqual([400, 'INVALID_INPUT', { fields: [field] }])
    expect(message).toContain(`${field}: `)
  })

  it.each([
    ['/etc', 'INVALID_PATH'],
    ['../..', 'INVALID_PATH'],
    ['a'.repeat(256), 'INVALID_PATH'],
    ['é/'.repeat(1500), 'INVALID_PATH'],
    ['a\0b', 'INVALID_INPUT'],
    ['', 'INVALID_INPUT'],
    ['a'.repeat(5000), 'INVALID_INPUT'],
  ])('in a directory of %j is refused with the name of the field: %s', async (cwd, code) => {
    const answer = await ask({ exec: { kind: 'shell', command: 'true', cwd } })
    expect([answer.status, errorIn(answer).code, errorIn(answer).facts]).toEqual([400, code, { fields: ['exec.cwd'] }])
  })

  it.each(['debian', '--privileged', '-v', 'a:b:rw,z', '$(id)'])(
    'in an image %j is refused where there are none',
    async (image) => {
      const answer = await ask(shell('true', { image }))
      const { code, message, facts } = errorIn(answer)
      expect([answer.status, code, facts]).toEqual([400, 'INVALID_INPUT', { fields: ['image'] }])
      expect(message).toBe('Cannot use the image: the backend bwrap has none')
    },
  )
})
