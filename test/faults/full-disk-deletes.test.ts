// State and data on one disk, and it is full: nothing begins any more, and whoever deletes or ends something is heard and recorded.
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWhere } from '../attacks/describe-where.ts'
import { makePlace, shell, startExecServer, type Answered, type ExecServer } from '../fixtures/exec-server.ts'

const glovebox = fileURLToPath(new URL('../../bin/glovebox', import.meta.url))
const reserveBytes = 320 * 1024

/** Each in a mount namespace of its own: nobody else sees it, and it goes with the server. */
const disks = {
  tmpfs: 'mount -t tmpfs -o size=48m,mode=700 none "$0"',
  ext4: 'truncate -s 96m "$0.img" && mkfs.ext4 -q -m 0 "$0.img" && mount -o loop "$0.img" "$0" && chmod 700 "$0"',
}

function whyNot(kind: string): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount'
  if (kind === 'tmpfs') return undefined
  if (!existsSync('/dev/loop-control')) return 'there are no loop devices'
  return spawnSync('mkfs.ext4', ['-V']).error === undefined ? undefined : 'there is no mkfs.ext4'
}

for (const [kind, mount] of Object.entries(disks)) {
  const why = whyNot(kind)
  describeWhere(why === undefined, why ?? '')(`one full disk for state and data, ${kind}`, () => onFullDisk(mount))
}

function onFullDisk(mount: string): void {
  let server: ExecServer
  /** As the server sees it. */
  let disk: string
  beforeAll(async () => {
    const place = makePlace()
    const data = join(place, 'data')
    mkdirSync(data, { mode: 0o700 })
    server = await startExecServer({
      place,
      env: { GLOVEBOX_STATE_DIR: join(data, 'state') },
      under: ['unshare', '-m', '--propagation', 'private', 'sh', '-c', `${mount} && exec "$@"`, data],
    })
    disk = join('/proc', String(server.pid), 'root', data)
  })
  afterAll(() => server.remove())

  const reserve = (): number => statSync(join(disk, 'state/audit/reserve')).size
  /** To the last page, and again whenever something has left some room. */
  const fill = (): void => {
    const descriptor = openSync(join(disk, 'fill'), 'a')
    for (const bytes of [1024 * 1024, 4096])
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(bytes))
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' })
      }
    closeSync(descriptor)
  }
  const ask = (method: string, path: string, body?: unknown): Promise<Answered> =>
    server.ask(method, path, body === undefined ? {} : { body })
  const make = (): Promise<Answered> => ask('POST', '/sandboxes', {})
  const codeIn = ({ status, json }: Answered): readonly unknown[] => [
    status,
    status < 400 ? undefined : (json as { error: { code: string } }).error.code,
  ]
  const idIn = ({ json }: Answered): string => (json as { id: string }).id
  /** What is left of the last page of the log may still take a few. */
  const untilRefused = async (): Promise<readonly unknown[]> => {
    let last: readonly unknown[] = []
    for (let count = 0; count < 40 && last[0] !== 503; count++) {
      fill()
      last = codeIn(await make())
    }
    return last
  }
  const verify = (): unknown => {
    const copy = mkdtempSync(join(tmpdir(), 'glovebox-audit-copy-'))
    try {
      cpSync(join(disk, 'state/audit'), copy, { recursive: true })
      const argv = [glovebox, 'audit', 'verify', copy, '--json']
      return (JSON.parse(spawnSync(process.execPath, argv, { encoding: 'utf8' }).stdout) as { verdict: string }).verdict
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
  const recordsOf = (action: string): readonly unknown[] => {
    const lines = readFileSync(join(disk, 'state/audit/segment-000001.jsonl'), 'utf8').trimEnd().split('\n')
    const records = lines.map((line) => JSON.parse(line) as { action: string; outcome: string })
    return records.filter((record) => record.action === action).map(({ outcome }) => outcome)
  }

  it('what deletes and what ends is done and recorded, all else refused, and the log verifies', async () => {
    const [first, second] = [idIn(await make()), idIn(await make())]
    const taken = await ask('POST', `/sandboxes/${first}/snapshots`, { name: 'kept' })
    const command = await ask('POST', `/sandboxes/${second}/commands`, { command: 'sleep 1000', background: true })
    const exec = await server.begin(shell('sleep 1000', { policy_overrides: { timeout_ms: 300_000 } }))
    await server.until(exec.exec_id, ({ status }) => status === 'RUNNING')
    expect(reserve()).toBe(reserveBytes)

    expect(await untilRefused()).toEqual([503, 'AUDIT_UNAVAILABLE'])
    expect(codeIn(await ask('DELETE', `/snapshots/${idIn(taken)}`))).toEqual([204, undefined])
    fill()
    const cancelled = await ask('POST', `/sandbox/execs/${exec.exec_id}/cancel`)
    expect([cancelled.status, (cancelled.json as { status: string }).status]).toEqual([200, 'CANCELLED'])
    expect(await untilRefused()).toEqual([503, 'AUDIT_UNAVAILABLE'])
    fill()
    const ended = await ask('DELETE', String(command.headers.get('location')))
    expect([ended.status, (ended.json as { status: string }).status]).toEqual([200, 'ended'])
    for (const id of [first, second]) {
      fill()
      expect(codeIn(await ask('DELETE', `/sandboxes/${id}`))).toEqual([204, undefined])
      expect((await ask('GET', `/sandboxes/${id}`)).status).toBe(404)
    }
    for (const action of ['snapshot.delete', 'exec.cancel', 'command.cancel', 'sandbox.destroy'])
      expect([action, recordsOf(action)]).toEqual([
        action,
        action === 'sandbox.destroy' ? ['intent', 'done', 'intent', 'done'] : ['intent', 'done'],
      ])
    expect(['ok', 'unsigned-tail']).toContain(verify())

    rmSync(join(disk, 'fill'))
    expect((await make()).status).toBe(201)
    expect(reserve()).toBe(reserveBytes)
    await expect.poll(verify, { timeout: 20_000 }).toBe('ok')
  })

  it('who deletes what is not there, again and again, leaves room for others to delete', async () => {
    rmSync(join(disk, 'fill'), { force: true })
    const kept = idIn(await make())
    const made = await ask('POST', '/tokens', { name: 'other', scopes: ['exec'] })
    const { token: other } = made.json as { token: string }
    expect(await untilRefused()).toEqual([503, 'AUDIT_UNAVAILABLE'])
    const nothing = `/sandboxes/sbx_${'0'.repeat(32)}`
    const answers: number[] = []
    while (answers.at(-1) !== 503 && answers.length < 2000) {
      fill()
      answers.push((await server.ask('DELETE', nothing, { token: other })).status)
    }
    expect(answers.slice(0, -1).filter((status) => status !== 404)).toEqual([])
    expect(answers.at(-1)).toBe(503)
    expect(answers.length).toBeGreaterThan(16)
    fill()
    expect(codeIn(await ask('DELETE', `/sandboxes/${kept}`))).toEqual([204, undefined])
    rmSync(join(disk, 'fill'))
    await expect.poll(verify, { timeout: 20_000 }).toBe('ok')
  })

  it('the operator removes a sandbox on it from the command line, and is refused all else', async () => {
    rmSync(join(disk, 'fill'), { force: true })
    const ids = [idIn(await make()), idIn(await make())]
    // The server has no lease on it then.
    for (const id of ids) expect((await ask('POST', `/sandboxes/${id}/pause`)).status).toBeLessThan(300)
    expect(await untilRefused()).toEqual([503, 'AUDIT_UNAVAILABLE'])
    const stop = (...words: readonly string[]): readonly unknown[] => {
      fill()
      const inside = ['-t', String(server.pid), '-m', process.execPath, glovebox, 'stop', ...words]
      const env = { ...process.env, GLOVEBOX_STATE_DIR: join(server.place, 'data/state') }
      const { status, stdout, stderr } = spawnSync('nsenter', inside, { encoding: 'utf8', env, cwd: '/' })
      return [status, stdout.trim(), stderr.split('\n')[0]]
    }
    const [first = '', second = ''] = ids
    // The lease finds no room, or the intent.
    expect(stop(first)).toEqual([
      1,
      '',
      expect.stringMatching(/^glovebox: Cannot (?:write the audit log|ask for the lease)/),
    ])
    expect(stop('--remove', first)).toEqual([0, first, ''])
    expect(stop('--remove', second)).toEqual([0, second, ''])
    expect((await ask('GET', `/sandboxes/${first}`)).status).toBe(404)
    rmSync(join(disk, 'fill'))
    await expect.poll(verify, { timeout: 20_000 }).toBe('ok')
  })
}
