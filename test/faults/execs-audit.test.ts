// What the audit log has of execs: who asked for which, what was refused, and what nobody can know because the server was killed first.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { readRecords } from '../../src/audit/read.ts'
import type { AuditRecord } from '../../src/audit/record.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { shell, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'

const glovebox = fileURLToPath(new URL('../../bin/glovebox', import.meta.url))
const servers: ExecServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0).toReversed()) await server.remove()
})
async function start(options: ServerOptions = {}): Promise<ExecServer> {
  const server = await startExecServer(options)
  servers.push(server)
  return server
}

/** Each intent with its end, in the order of the intents; and what was refused. */
async function told({ place }: ExecServer): Promise<readonly unknown[]> {
  const all: AuditRecord[] = []
  for await (const record of readRecords(join(place, 'state/audit') as HostPath)) all.push(record)
  return all
    .filter(({ action, outcome }) => action.startsWith('exec.') && outcome === 'intent')
    .map(({ seq, action, subject }) => {
      const ends = all.filter(({ intent }) => intent === seq)
      return [action, subject, ...ends.map(({ outcome, data }) => ({ outcome, ...data }))]
    })
}

async function refusals({ place }: ExecServer): Promise<readonly unknown[]> {
  const all: unknown[] = []
  for await (const { action, subject, outcome, data } of readRecords(join(place, 'state/audit') as HostPath))
    if (action === 'request.refused') all.push({ subject, outcome, code: data['code'] })
  return all
}

/** As an operator asks. It ends with a code of its own where the chain does not hold, and throws then. */
function verify({ place }: ExecServer): unknown {
  const env = { ...process.env, GLOVEBOX_STATE_DIR: join(place, 'state') }
  const words = [glovebox, 'audit', 'verify', '--json']
  return JSON.parse(execFileSync(process.execPath, words, { cwd: place, env, encoding: 'utf8' }))
}

const made = (execId: string) => ({ outcome: 'done', made: `/sandbox/execs/${execId}` })
const at = '/sandbox/execs'

describe('the audit log of a server', () => {
  it('has each exec that was asked for and each cancel with its id, and what was refused', async () => {
    const server = await start()
    const headers = { 'idempotency-key': 'k' }
    const body = shell('exit 3')
    const one = await server.exec(body, headers)
    const same = await server.exec(body, headers)
    const other = await server.begin(shell('sleep 60'))
    expect((await server.ask('POST', `${at}/${other.exec_id}/cancel`)).status).toBe(200)
    const greedy = { ...shell('true'), policy_overrides: { pids: 10 ** 6 } }
    const refused = await server.ask('POST', at, { body: greedy })
    expect([refused.status, refused.json]).toMatchObject([403, { error: { code: 'POLICY_ESCALATION' } }])
    const mismatch = await server.ask('POST', at, { body: shell('exit 4'), headers })
    expect(mismatch.status).toBe(409)
    expect(await server.stop()).toBe(0)

    expect(same.exec_id).toBe(one.exec_id)
    expect(await told(server)).toEqual([
      ['exec.run', at, made(one.exec_id)],
      ['exec.run', at, made(one.exec_id)],
      ['exec.run', at, made(other.exec_id)],
      ['exec.cancel', `${at}/${other.exec_id}/cancel`, made(other.exec_id)],
      ['exec.run', at, { outcome: 'failed', code: 'POLICY_ESCALATION' }],
      ['exec.run', at, { outcome: 'failed', code: 'IDEMPOTENCY_MISMATCH' }],
    ])
    expect(await refusals(server)).toEqual(
      expect.arrayContaining([
        { subject: `post ${at}`, outcome: 'failed', code: 'POLICY_ESCALATION' },
        { subject: `post ${at}`, outcome: 'failed', code: 'IDEMPOTENCY_MISMATCH' },
      ]),
    )
    expect(verify(server)).toMatchObject({ verdict: 'ok', openIntents: 0, unknownOutcomes: 0 })
  })

  it('of one that is killed ends as unknown what it was about, and the chain holds', async () => {
    const settings = 'sandbox:\n  max_concurrent_execs: 1\n'
    const first = await start({ settings, env: { GLOVEBOX_FAILPOINTS: 'exec.cancel.beforeFiles=kill' } })
    const died = new Promise<void>((resolve) => first.child.once('exit', () => resolve()))
    const isAnswered = first.exec(shell('sleep 60'), { 'idempotency-key': 'waited' }).then(
      () => true,
      () => false,
    )
    // While somebody waits for the end of one, another one is being cancelled.
    await expect
      .poll(async () => (await first.ask('GET', `${at}?status=RUNNING`)).json)
      .toMatchObject({ items: [{ status: 'RUNNING' }] })
    const { items } = (await first.ask('GET', at)).json as { readonly items: readonly { readonly exec_id: string }[] }
    const queued = await first.begin(shell('true'))
    await first.ask('POST', `${at}/${queued.exec_id}/cancel`).catch(() => undefined)
    await died
    expect(await isAnswered).toBe(false)

    const second = await start({ place: first.place })
    const ends = await Promise.all(
      [items[0]?.exec_id ?? '', queued.exec_id].map((id) => second.until(id, ({ ended_at }) => ended_at !== null)),
    )
    expect(ends.map(({ status }) => status)).toEqual(['LOST', 'CANCELLED'])
    // What the dead one was about is ended with the next record.
    const after = await second.exec(shell('true'))
    await second.stop()
    const unknown = { outcome: 'unknown', reason: 'the process ended first' }
    expect(await told(second)).toEqual([
      ['exec.run', at, unknown],
      ['exec.run', at, made(queued.exec_id)],
      ['exec.cancel', `${at}/${queued.exec_id}/cancel`, unknown],
      ['exec.run', at, made(after.exec_id)],
    ])
    expect(verify(second)).toMatchObject({ verdict: 'ok', openIntents: 0, unknownOutcomes: 2 })
  })
})
