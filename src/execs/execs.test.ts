import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import { isGloveboxError, type GloveboxError } from '../errors/error.ts'
import type { Boundaries } from './boundaries.ts'
import type { Execs } from './execs.ts'
import { someRow, type Ground } from './ground.test-support.ts'
import { execPlace, recordPlace } from './layout.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { openOutputs } from './outputs.ts'
import { metaOf, readMeta, writeMeta } from './record.ts'
import { asked, exit, play, request, stage } from './stage.test-support.ts'

let ground: Ground
let store: Store
let open: OpenedForTest['open']
execsForEach((opened) => ({ ground, store, open } = opened))

async function run(execs: Execs, command: string): Promise<ExecRow> {
  const { row } = await execs.submit(asked(command))
  return await execs.wait(row.exec_id)
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (isGloveboxError(error) ? error.code : String(error)),
  )

describe('execs', () => {
  it('meta.json says of an exec what its row says', async () => {
    const execs = await open()
    for (const script of ['hello', 'exit 3', 'exit 0']) {
      const row = await run(execs, script)
      expect(readMeta(ground.root, row)).toEqual(metaOf(ground.root, row))
    }
    expect((await run(execs, 'exit 3')).error_reason).toBe('exit_nonzero')
  })

  it('one key is one exec, however many send it at once', async () => {
    const execs = await open()
    const send = () => execs.submit(asked('hello', { key: 'k' }))
    const all = await Promise.all(Array.from({ length: 20 }, send))
    expect(new Set(all.map(({ row }) => row.exec_id)).size).toBe(1)
    expect(all.filter(({ isRepeated }) => !isRepeated)).toHaveLength(1)
    expect(await codeOf(execs.submit(asked('hello', { key: 'k', bodySha256: 'b'.repeat(64) })))).toBe(
      'IDEMPOTENCY_MISMATCH',
    )
    expect((await execs.submit(asked('hello', { key: 'k', project: 'other' }))).isRepeated).toBe(false)
    await Promise.all(all.map(({ row }) => execs.wait(row.exec_id)))
    expect(await store.execs.count({ project_id: 'project' })).toBe(1)
  })

  it('cancelling an exec that has ended changes nothing', async () => {
    const execs = await open()
    const ended = await run(execs, 'hello')
    expect(await execs.cancel(ended.exec_id)).toEqual(ended)
    expect(await execs.cancel('exec_00000000')).toBeUndefined()
  })

  it('cancelling ends what runs, and what has not begun', async () => {
    const execs = await open({ limits: { maxConcurrent: 1 } })
    const running = (await execs.submit(asked('hang'))).row
    const queued = (await execs.submit(asked('hello'))).row
    const unbegun = { status: 'CANCELLED', error_reason: 'cancelled', started_at: null }
    const cancelled = (await execs.cancel(queued.exec_id)) as ExecRow
    expect(cancelled).toMatchObject(unbegun)
    expect(await execs.find(queued.exec_id)).toEqual(cancelled)
    expect(readMeta(ground.root, queued)).toEqual(metaOf(ground.root, cancelled))
    while ((await execs.find(running.exec_id))?.status !== 'RUNNING') await delay(5)
    expect(await execs.cancel(running.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'cancelled' })
  })

  it('a full queue is told with the time to wait, and other projects are still served', async () => {
    const execs = await open({ limits: { maxConcurrent: 1, maxQueuedPerProject: 2 } })
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => execs.submit(asked('hang'))))
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason as GloveboxError] : []))
    // One runs, and two wait.
    expect(refused).toHaveLength(7)
    for (const { code, facts } of refused) {
      expect(code).toBe('TOO_MANY_REQUESTS')
      expect(facts['retryAfterSeconds']).toBeGreaterThanOrEqual(1)
    }
    expect(await codeOf(execs.submit(asked('hello', { project: 'other' })))).toBe('done')
  })

  it('the next exec is of the project that has the fewest', async () => {
    const begun: string[] = []
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const boundaries = stage(async (script) => {
      begun.push(script)
      await released
      await delay(20)
      return exit(0)
    })
    const execs = await open({ boundaries, limits: { maxConcurrent: 2 } })
    const rows = []
    for (let index = 0; index < 6; index++) rows.push((await execs.submit(asked(`many ${index}`))).row)
    rows.push((await execs.submit(asked('few', { project: 'other' }))).row)
    release()
    await Promise.all(rows.map(({ exec_id }) => execs.wait(exec_id)))
    expect(begun.indexOf('few')).toBeLessThanOrEqual(3)
  })

  it('an exec whose directory was removed meanwhile ends, and has a record of it', async () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const boundaries = stage((script, following) => {
      begin()
      return play(script, following)
    })
    const execs = await open({ boundaries })
    const { row } = await execs.submit(asked('hang'))
    await begun
    rmSync(join(ground.root, 'projects'), { recursive: true })
    const ended = (await execs.cancel(row.exec_id)) as ExecRow
    expect(ended).toMatchObject({ status: 'CANCELLED', error_reason: 'cancelled' })
    expect(readMeta(ground.root, row)).toEqual(metaOf(ground.root, ended))
    expect((await execs.artifacts(ended)).entries.map(({ path }) => path)).not.toContain('.glovebox')
  })

  it('with one place projects take turns', async () => {
    const begun: string[] = []
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const boundaries = stage(async (script) => {
      begun.push(script)
      await released
      return exit(0)
    })
    const execs = await open({ boundaries, limits: { maxConcurrent: 1 } })
    const rows = []
    for (let index = 0; index < 10; index++) rows.push((await execs.submit(asked(`many ${index}`))).row)
    rows.push((await execs.submit(asked('few', { project: 'other' }))).row)
    release()
    await Promise.all(rows.map(({ exec_id }) => execs.wait(exec_id)))
    expect(begun.toSorted()).toEqual(['few', ...Array.from({ length: 10 }, (_, index) => `many ${index}`)])
    expect(begun.slice(0, 3)).toEqual(['many 0', 'few', 'many 1'])
  })

  it('a request that policy refuses is recorded, and the refusal names the record', async () => {
    const execs = await open()
    const request_ = request('hello', { policy_overrides: { timeout_ms: 301_000 } })
    const refusal = await execs.submit(asked('', { request: request_ })).catch((error: unknown) => error)
    expect(isGloveboxError(refusal) && refusal.code).toBe('POLICY_ESCALATION')
    const row = await execs.find(String((refusal as GloveboxError).facts['exec_id']))
    expect(row).toMatchObject({ status: 'POLICY_DENIED', error_reason: 'policy_escalation' })
    expect(readMeta(ground.root, row as ExecRow)).toEqual(metaOf(ground.root, row as ExecRow))
  })

  it('a server that stops lets what runs come to its end, and then ends it', async () => {
    const execs = await open({ limits: { maxConcurrent: 1 } })
    const hanging = (await execs.submit(asked('hang'))).row
    const left = (await execs.submit(asked('hello'))).row
    const secret = { kind: 'shell', command: 'hello', env: { A: 'b' } } as const
    const unrunnable = (await execs.submit(asked('', { request: { exec: secret } }))).row
    const waiting = execs.wait(left.exec_id)
    while ((await execs.find(hanging.exec_id))?.status !== 'RUNNING') await delay(5)
    await execs.drain(20)
    expect(await execs.find(hanging.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'drained' })
    expect(await execs.find(unrunnable.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'drained' })
    expect((await waiting)?.status).toBe('QUEUED')
    const next = await open()
    expect(await next.wait(left.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('execs of a dead server', () => {
  const left = async (change: Partial<ExecRow>): Promise<ExecRow> => {
    const row = { ...ground.exec(), owner: 'srv_dead', ...change }
    await writeMeta(ground.root, row, { sync: false })
    await store.execs.insert(row)
    return row
  }

  it('of one that ran where nothing outlives its server nobody can know the end', async () => {
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789', started_at: new Date().toISOString() })
    const execs = await open()
    expect(await execs.find(row.exec_id)).toMatchObject({
      status: 'LOST',
      error_reason: 'server_crash',
      exit_code: null,
    })
    expect(readMeta(ground.root, row)?.status).toBe('LOST')
  })

  it('of one that is lost an output counts as cut where its server had more of it, and not where it is as long as may be', async () => {
    const most = Number(someRow().policy_snapshot?.['max_stdout_bytes'])
    const lost = await Promise.all(
      [0, 1].map(async (more) => {
        const row = await left({ status: 'RUNNING', boundary_id: `sbx_012345678${more}` })
        const outputs = await openOutputs({ root: ground.root, row, goesOn: false, onGrown: () => {}, log: () => {} })
        await outputs.stdout.add(Buffer.alloc(most + more))
        outputs.close()
        return row
      }),
    )
    const execs = await open()
    for (const [index, row] of lost.entries()) {
      const end = { status: 'LOST', stdout_truncated: index === 1, stderr_truncated: false }
      expect(await execs.find(row.exec_id)).toMatchObject(end)
      expect(readMeta(ground.root, row)).toMatchObject(end)
      expect(readdirSync(execPlace(ground.root, row)).filter((name) => name.startsWith('.'))).toEqual([])
    }
  })

  it('one that never began begins', async () => {
    const queued = await left({ args: ['-lc', 'hello'] })
    const claimed = await left({ args: ['-lc', 'hello'], status: 'RUNNING' })
    const execs = await open()
    for (const row of [queued, claimed]) {
      expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
      expect(readFileSync(recordPlace(ground.root, row, 'stdout.txt'), 'utf8')).toBe('hello')
    }
  })

  it('one whose environment died with the server is not run without it', async () => {
    const row = await left({ env_keys: ['TOKEN'] })
    const execs = await open()
    expect(await execs.find(row.exec_id)).toMatchObject({ status: 'FAILED', error_reason: 'environment_lost' })
  })

  it('one whose end was written down has ended so', async () => {
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    const ended = {
      ...row,
      status: 'FAILED',
      exit_code: 7,
      error_reason: 'exit_nonzero',
      ended_at: new Date().toISOString(),
    } as const
    await writeMeta(ground.root, ended, { sync: false })
    const execs = await open()
    expect(await execs.find(row.exec_id)).toMatchObject({ status: 'FAILED', exit_code: 7 })
  })

  it('one that went on is followed from the byte at which it was left', async () => {
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    const { writeFileSync } = await import('node:fs')
    writeFileSync(recordPlace(ground.root, row, 'stdout.txt'), 'first ')
    const findAgain: NonNullable<Boundaries['findAgain']> = async () => ({
      elapsedMs: () => 50_000,
      endedAgoMs: () => 20_000,
      async run({ onStdout, from }) {
        await onStdout(Buffer.from('first second'.slice(from.stdout)))
        return exit(5)
      },
      close: async () => {},
      forget: async () => {},
    })
    const execs = await open({ boundaries: { ...stage(), findAgain } })
    const end = await execs.wait(row.exec_id)
    expect(end).toMatchObject({ status: 'FAILED', exit_code: 5 })
    expect(end?.duration_ms, 'it counts from its beginning to its own end').toBeGreaterThanOrEqual(30_000)
    expect(end?.duration_ms).toBeLessThan(50_000)
    expect(Date.parse(end?.ended_at ?? '')).toBeLessThan(Date.now() - 19_000)
    expect(readFileSync(recordPlace(ground.root, row, 'stdout.txt'), 'utf8')).toBe('first second')
  })

  const foundUntil = (released: Promise<void>): Boundaries => ({
    ...stage(),
    findAgain: async () => ({
      elapsedMs: () => 0,
      endedAgoMs: () => 0,
      async run() {
        await released
        return exit(0)
      },
      close: async () => {},
      forget: async () => {},
    }),
  })

  it('one that went on counts as running, has a place, and is given the time to end', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    const execs = await open({ boundaries: foundUntil(released), limits: { maxConcurrent: 1 } })
    expect(execs.running).toBe(1)
    const next = (await execs.submit(asked('hello'))).row
    const drained = execs.drain(60_000)
    release()
    await drained
    expect(await execs.find(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
    // There was no place for it.
    expect(await execs.find(next.exec_id)).toMatchObject({ status: 'QUEUED', started_at: null })
  })

  it('one that went on gives its place to the next when it has ended', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    const execs = await open({ boundaries: foundUntil(released), limits: { maxConcurrent: 1 } })
    const next = (await execs.submit(asked('hello'))).row
    release()
    for (const { exec_id } of [row, next]) expect(await execs.wait(exec_id)).toMatchObject({ status: 'SUCCEEDED' })
    expect(execs.running).toBe(0)
  })

  it('one that went on has ended as it did though its directory is gone', async () => {
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    rmSync(execPlace(ground.root, row), { recursive: true })
    const execs = await open({ boundaries: foundUntil(Promise.resolve()) })
    expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('one whose boundary was named, and in which nothing has run, begins', async () => {
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789', args: ['-lc', 'exit 6'] })
    const secret = await left({ status: 'RUNNING', boundary_id: 'sbx_9876543210', env_keys: ['TOKEN'] })
    const destroyed: string[] = []
    const boundaries: Boundaries = {
      ...stage(),
      findAgain: async () => 'unbegun',
      destroy: async (id) => void destroyed.push(id),
    }
    const execs = await open({ boundaries })
    expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'FAILED', exit_code: 6 })
    expect(await execs.find(secret.exec_id)).toMatchObject({ status: 'FAILED', error_reason: 'environment_lost' })
    expect(destroyed.toSorted()).toEqual(['sbx_0123456789', 'sbx_9876543210'])
  })

  it('what is left of a command is not taken away before its end is written down', async () => {
    const row = await left({ args: ['-lc', 'exit 9'] })
    const seen: unknown[] = []
    const { prepare, ...rest } = stage()
    const boundaries: Boundaries = {
      ...rest,
      prepare: async (wanted) => ({
        ...(await prepare(wanted)),
        close: async () => void seen.push(['closed', (await store.execs.find(row.exec_id))?.status]),
        forget: async () => void seen.push(['forgotten', (await store.execs.find(row.exec_id))?.status]),
      }),
    }
    const execs = await open({ boundaries })
    await execs.wait(row.exec_id)
    while (seen.length < 2) await delay(5)
    expect(seen).toEqual([
      ['closed', 'RUNNING'],
      ['forgotten', 'FAILED'],
    ])
  })

  it('the next server demands for it what its request demanded, and not what everybody has', async () => {
    const usual = someRow().policy_snapshot
    await left({ policy_snapshot: { ...usual, timeout_ms: 1234, net: { mode: 'full', allow: [] } } })
    const demanded: unknown[] = []
    const { prepare, ...rest } = stage()
    await open({
      boundaries: {
        ...rest,
        prepare: async (wanted) => {
          demanded.push(wanted.values)
          return prepare(wanted)
        },
      },
    })
    while (demanded.length === 0) await delay(5)
    expect(demanded).toEqual([{ timeoutMs: 1234, network: { mode: 'full' }, secrets: [] }])
  })

  it('execs of a living server are left alone', async () => {
    const first = await open({ limits: { maxConcurrent: 1 } })
    const { row } = await first.submit(asked('hang'))
    while ((await first.find(row.exec_id))?.status !== 'RUNNING') await delay(5)
    const second = await open()
    expect(await second.find(row.exec_id)).toMatchObject({ status: 'RUNNING' })
    expect(someRow().status).toBe('QUEUED')
  })
})
