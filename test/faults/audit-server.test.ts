// A real server whose disk fails at the sync of an intent, while what the intent is for is already under way. The failure is put in
// between the server and its kernel, for the audit log alone and from a moment of our choice on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readRecords } from '../../src/audit/read.ts'
import type { AuditRecord } from '../../src/audit/record.ts'
import { verifyAudit } from '../../src/audit/verify.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { hasTracer } from './killed-at-call.ts'

const unless = hasTracer ? '' : ' (not run: strace is not installed)'

let place: string
let server: ServerGround
beforeEach(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-audit-server-')))
  server = await startServer({ place })
})
afterEach(async () => {
  await server.stop()
  rmSync(place, { recursive: true, force: true })
})

const audit = (): HostPath => join(server.state, 'audit') as HostPath

/** From now on, until it is undone, every sync of the log's only segment fails. */
async function failSyncs(): Promise<() => Promise<void>> {
  // What was answered before has its outcome on disk, and the next sync is that of the next intent.
  await expect.poll(async () => (await records()).at(-1)?.outcome).toBe('done')
  await expect.poll(() => existsSync(join(audit(), 'lock', 'writer.lock'))).toBe(false)
  const pid = server.server.child.pid ?? 0
  const threads = readdirSync(`/proc/${pid}/task`).flatMap((thread) => ['-p', thread])
  // The server's own threads, and none of what it starts.
  const what = ['-P', join(audit(), 'segment-000001.jsonl'), '-e', 'inject=fdatasync:error=EIO']
  const tracer = spawn('strace', [...what, '-o', '/dev/null', ...threads], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await expect.poll(() => said.match(/attached/g)?.length).toBe(threads.length / 2)
  return async () => {
    tracer.kill('SIGINT')
    await once(tracer, 'close')
  }
}

async function records(): Promise<readonly AuditRecord[]> {
  const all: AuditRecord[] = []
  for await (const record of readRecords(audit())) all.push(record)
  return all
}

const told = ({ status, at }: Answered): readonly unknown[] => [status, at('error.code')]

const create = (body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  server.call('POST', '/sandboxes', { body, headers })
const listed = async (): Promise<readonly string[]> =>
  ((await server.call('GET', '/sandboxes')).at('items') as readonly { id: string }[]).map(({ id }) => id)

async function startAnew(): Promise<void> {
  await server.stop()
  server = await startServer({ place, token: server.token })
}

async function expectSound(): Promise<void> {
  await server.stop()
  server = await startServer({ place, token: server.token })
  await server.stop()
  expect(verifyAudit(audit())).toMatchObject({ verdict: 'ok', openIntents: 0 })
}

describe.skipIf(!hasTracer)(`a server whose audit log cannot be synced${unless}`, () => {
  it('answers 503, takes back the sandbox that it made, and does nothing more until it is started anew', async () => {
    const kept = await create()
    const repair = await failSyncs()
    expect(told(await create({}, { 'idempotency-key': 'once' }))).toEqual([503, 'AUDIT_UNAVAILABLE'])
    await repair()
    // The disk seems well again, but what it kept is uncertain until the log has been read anew.
    expect(told(await create())).toEqual([503, 'AUDIT_UNAVAILABLE'])
    expect(await listed()).toEqual([kept.at('id')])
    await startAnew()
    expect(await listed()).toEqual([kept.at('id')])
    // No answer was kept under the key of what was taken back.
    const again = await create({}, { 'idempotency-key': 'once' })
    expect(again.status).toBe(201)
    expect(new Set(await listed())).toEqual(new Set([kept.at('id'), again.at('id')]))
    await expectSound()
    const made = (await records()).filter(({ action }) => action === 'sandbox.create')
    expect(made.map(({ outcome }) => outcome)).toEqual(['intent', 'done', 'intent', 'unknown', 'intent', 'done'])
  })

  it('leaves the sandbox of an earlier request alone, whether it is asked for by its key or by a repetition', async () => {
    const kept = await create({ key: 'kept' }, { 'idempotency-key': 'once' })
    const repair = await failSyncs()
    const answers = await Promise.all([create({ key: 'kept' }), create({ key: 'kept' }, { 'idempotency-key': 'once' })])
    expect(answers.map(told)).toEqual(answers.map(() => [503, 'AUDIT_UNAVAILABLE']))
    await repair()
    await startAnew()
    expect(await listed()).toEqual([kept.at('id')])
    await expectSound()
  })

  it('tells that a command may have run, and does not tell its result', async () => {
    const id = String((await create()).at('id'))
    const repair = await failSyncs()
    const body = { argv: ['sh', '-c', 'echo ran > ran; echo secret'] }
    const answer = await server.call('POST', `/sandboxes/${id}/commands`, { body })
    expect(told(answer)).toEqual([503, 'AUDIT_UNAVAILABLE'])
    expect(answer.text).toContain('It may have been made.')
    expect(answer.text).not.toContain('secret')
    await repair()
    const ran = await server.call('GET', `/sandboxes/${id}/files?path=/workspace/ran`)
    expect([ran.status, ran.text]).toEqual([200, 'ran\n'])
    await expectSound()
  })

  it('control: with a disk that is well each of these is answered, and its intent stands before its outcome', async () => {
    const made = await create({}, { 'idempotency-key': 'once' })
    const same = await create({}, { 'idempotency-key': 'once' })
    expect([made.status, same.status, same.at('id')]).toEqual([201, 201, made.at('id')])
    const run = await server.call('POST', `/sandboxes/${String(made.at('id'))}/commands`, { body: { argv: ['true'] } })
    expect([run.status, run.at('exitCode')]).toEqual([200, 0])
    await server.stop()
    const all = (await records()).filter(({ action }) => action === 'sandbox.create' || action === 'command.run')
    expect(all.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['sandbox.create', 'intent'],
      ['sandbox.create', 'done'],
      ['sandbox.create', 'intent'],
      ['sandbox.create', 'done'],
      ['command.run', 'intent'],
      ['command.run', 'done'],
    ])
    expect(verifyAudit(audit()).verdict).toBe('ok')
  })
})
