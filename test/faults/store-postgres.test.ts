// PostgreSQL: restarted, cut off, read-only and hanging. What was answered is there once; what was not is said so in time.
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/contract/store.ts'
import { isInDoubt } from '../../src/errors/doubt.ts'
import { databaseOver } from '../../src/store/dialect.ts'
import { claimKey } from '../../src/store/idempotency.ts'
import { openStore, type StoreOptions } from '../../src/store/open.ts'
import { at, execRow, runRow, tokenRow } from '../conformance/store/subject.ts'
import { isRequired } from '../conformance/required.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { openWire } from './postgres-wire.ts'

const possible = whyNoPostgres === undefined || isRequired('postgres')

describe.skipIf(!possible)('a PostgreSQL that fails', () => {
  let cluster: Cluster
  const opened: Store[] = []
  beforeAll(() => {
    cluster = startCluster()
  })
  afterAll(() => cluster.remove())
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  const open = async (options: StoreOptions): Promise<Store> => {
    const store = await openStore(options)
    opened.push(store)
    return store
  }
  const ask = async <Row extends object>(url: string, text: string): Promise<readonly Row[]> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }
  const endOthers = (url: string) =>
    ask(url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'glovebox'`)
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: { readonly code?: string; readonly message: string }) => error.code ?? error.message,
    )

  it('serves again when it can, after transactions that it could not even begin', async () => {
    const url = cluster.createDatabase()
    const body = (what: string): string =>
      `create or replace function ours.pg_current_xact_id() returns xid8 language plpgsql as 'begin ${what}; end'`
    await ask(url, `create schema ours; ${body('return pg_catalog.pg_current_xact_id()')}`)
    const store = await open({ url: `${url}&options=${encodeURIComponent('-csearch_path=ours,pg_catalog,public')}` })
    const row = execRow()
    await store.execs.insert(row)
    // As where the disk of PostgreSQL is full: no transaction gets a number.
    await ask(url, body(`raise using errcode = ''53100''`))
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(store.execs.insert(execRow()))))
    expect(new Set(codes)).toEqual(new Set(['NO_SPACE']))
    expect(await store.execs.find(row.exec_id)).toMatchObject({ exec_id: row.exec_id })
    await ask(url, body('return pg_catalog.pg_current_xact_id()'))
    for (let times = 0; times < 20; times++) expect(await codeOf(store.execs.insert(execRow()))).toBe('done')
  })

  it('loses nothing that was answered when it is restarted under load', async () => {
    const url = cluster.createDatabase()
    const servers = [await open({ url }), await open({ url })]
    const inserted = new Set<string>()
    const ended = new Map<string, number>()
    const codes = new Set<string>()
    let refusals = 0
    let going = true
    const work = async (store: Store, owner: string): Promise<void> => {
      for (let code = 0; going; code++) {
        try {
          const row = execRow({ project_id: owner })
          await store.execs.insert(row)
          inserted.add(row.exec_id)
          const claimed = await store.execs.claimNext({ owner, started_at: at(1) })
          if (claimed === undefined) continue
          const change = { status: 'FAILED', exit_code: code % 200, ended_at: at(2) } as const
          if (await store.execs.update(claimed.exec_id, claimed.fence, change)) {
            expect(ended.has(claimed.exec_id)).toBe(false)
            ended.set(claimed.exec_id, code % 200)
          }
        } catch (error) {
          codes.add((error as { code: string }).code)
          refusals += 1
          await delay(20)
        }
      }
    }
    const workers = Array.from({ length: 8 }, (_, index) => work(servers[index % 2]!, `o${index}`))
    const untilMore = async (count: () => number, more: number): Promise<void> => {
      for (const enough = count() + more; count() < enough;) await delay(20)
    }
    for (const how of ['immediate', 'fast'] as const) {
      await untilMore(() => ended.size, 20)
      cluster.stop(how)
      await untilMore(() => refusals, 1)
      cluster.start()
    }
    await untilMore(() => ended.size, 20)
    going = false
    await Promise.all(workers)
    expect([...codes].filter((code) => code !== 'STORE_UNAVAILABLE')).toEqual([])
    expect(codes.size).toBe(1)
    expect(ended.size).toBeGreaterThan(50)
    const rows = await ask<{ exec_id: string; exit_code: number | null }>(
      url,
      'select exec_id, exit_code from sandbox_execs',
    )
    const kept = new Map(rows.map(({ exec_id, exit_code }) => [exec_id, exit_code]))
    expect([...inserted].filter((id) => !kept.has(id))).toEqual([])
    expect([...ended].filter(([id, code]) => kept.get(id) !== code)).toEqual([])
  })

  it('has every run, token and key that it answered for after it was killed', async () => {
    const url = cluster.createDatabase()
    // What is not synced with its commit would stay in memory for as long as the kill needs.
    await ask(url, `alter system set wal_writer_delay = '10s'`)
    await ask(url, 'select pg_reload_conf()')
    const store = await open({ url })
    const [run, token] = [runRow(), tokenRow('t')]
    const request = { project_id: 'p1', key: 'k', body_sha256: 'b', subject: 's', created_at: at(1) }
    await store.tokens.insert(token)
    await store.idempotency.claim(request)
    // The last of them: a commit that is synced takes those before it along.
    await store.runs.put(run)
    cluster.stop('immediate')
    cluster.start()
    expect(await store.runs.find(run.run_id)).toEqual(run)
    expect(await store.tokens.find(token.id)).toEqual(token)
    expect(await store.idempotency.find(request)).toMatchObject({ subject: 's' })
    await ask(url, 'alter system reset wal_writer_delay')
    await ask(url, 'select pg_reload_conf()')
  })

  it('is asked once more on a fresh connection when it ends the ones it had', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url })
    await Promise.all(Array.from({ length: 10 }, () => store.execs.insert(execRow())))
    await endOthers(url)
    // At once, before the pool has heard of it.
    const answers = await Promise.all([
      codeOf(store.execs.insert(execRow())),
      codeOf(store.execs.count({})),
      codeOf(store.execs.claimNext({ owner: 'o', started_at: at(1) })),
    ])
    expect(answers).toEqual(['done', 'done', 'done'])
    expect(await store.execs.count({})).toBe(11)
  })

  it.each(['unanswered', 'unheard'] as const)('a commit whose answer is lost (%s) happens once', async (when) => {
    const wire = await openWire(cluster.createDatabase())
    const store = await open({ url: wire.url })
    for (let round = 1; round <= 3; round++) {
      const [row, other] = [execRow(), execRow()]
      for (const each of [row, other]) await store.execs.insert(each)
      wire.cutAtCommit(when)
      const claimed = await store.execs.claimNext({ owner: `o${round}`, started_at: at(1) })
      expect(wire.cuts).toBe(round)
      const { rows } = await store.execs.list({ owner: `o${round}` }, { limit: 10 })
      expect(rows).toEqual([claimed])
      expect(claimed?.fence).toBe(1)
      await store.execs.update(claimed!.exec_id, 1, { status: 'SUCCEEDED' })
      for (const each of [row, other]) await store.execs.requestCancel(each.exec_id, { by: 'o', at: at(2) })
    }
    await store.close()
    await wire.remove()
  })

  it('a commit of which nobody can tell is told as in doubt, and any other fault is not', async () => {
    const wire = await openWire(cluster.createDatabase())
    const store = await open({ url: wire.url })
    const doubts: boolean[] = []
    const insert = (row: ReturnType<typeof execRow>): Promise<void> =>
      store.execs.insert(row).then(
        () => {},
        (error: unknown) => void doubts.push(isInDoubt(error)),
      )
    const [there, lost, refused] = [execRow(), execRow(), execRow()]
    for (const [row, when] of [
      [there, 'unanswered'],
      [lost, 'unheard'],
    ] as const) {
      wire.cutAtCommit(when, { isAway: true })
      await insert(row)
      if (row === lost) await insert(refused)
      wire.heal()
    }
    expect(doubts).toEqual([true, true, false])
    // It was away for three calls in a row, so that it may be left alone for a second.
    await expect.poll(() => codeOf(store.execs.count({}))).toBe('done')
    const answers = await Promise.all([there, lost, refused].map((row) => store.execs.wasInserted(row)))
    expect(answers).toEqual([true, false, false])
    expect((await store.execs.list({}, { limit: 10 })).rows).toEqual([there])
    await store.close()
    await wire.remove()
  })

  it('a commit that is still under way is waited for by who must know of it', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url })
    const rows = { commit: execRow(), rollback: execRow() }
    for (const [end, row] of Object.entries(rows)) {
      // Who holds a row open that was inserted, as a commit does that waits for a standby.
      const other = new Client({ connectionString: url })
      await other.connect()
      await store.execs.insert(row)
      await other.query(`create temporary table held as select * from sandbox_execs where exec_id = '${row.exec_id}'`)
      await store.execs.withdraw(row.exec_id)
      await other.query('begin; insert into sandbox_execs select * from held')
      const asked = store.execs.wasInserted(row)
      expect(await store.execs.find(row.exec_id)).toBeUndefined()
      await other.query(end)
      expect(await asked).toBe(end === 'commit')
      await other.end()
    }
    expect(await store.execs.count({})).toBe(1)
  })

  it('that is read-only is answered for, and its connections are not used again', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url })
    await store.execs.insert(execRow())
    await ask(url, `alter role glovebox set default_transaction_read_only = on`)
    await endOthers(url)
    expect(await codeOf(store.execs.insert(execRow()))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(store.health())).toBe('STORE_UNAVAILABLE')
    // The server notices a moment later that one was closed; one that is kept would stay for ten seconds.
    const pids = () => ask(url, `select pid from pg_stat_activity where application_name = 'glovebox'`)
    await expect.poll(pids, { timeout: 6000 }).toEqual([])
    await ask(url, `begin read write; alter role glovebox reset default_transaction_read_only; commit`)
    expect(await codeOf(store.execs.insert(execRow()))).toBe('done')
    expect(await codeOf(store.health())).toBe('done')
    expect(await store.execs.count({})).toBe(2)
  })

  it('a key that is given back while another asks for it is taken by that one', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url })
    const bound = (subject: string) => ({
      project_id: 'p1',
      key: 'k',
      body_sha256: 'b',
      subject,
      created_at: at(1),
    })
    const [first, second] = [bound('s1'), bound('s2')]
    await store.idempotency.claim(first)
    const client = new Client({ connectionString: url })
    await client.connect()
    let looks = 0
    const database = databaseOver('postgres', async (text, values) => {
      // Between the insert, which found the key, and the look at it.
      if (text.startsWith('select') && looks++ === 0) await store.idempotency.release(first)
      const { rows, rowCount } = await client.query<Record<string, unknown>>(text, [...values])
      return { rows, affected: rowCount ?? 0 }
    })
    await client.query('begin')
    expect(await claimKey(database, second)).toEqual({ outcome: 'claimed' })
    await client.query('commit')
    await client.end()
    expect(await store.idempotency.find(second)).toMatchObject({ subject: 's2' })
  })

  it('another server that is still changing its schema is waited for', async () => {
    const url = cluster.createDatabase()
    const other = new Client({ connectionString: url })
    await other.connect()
    await other.query('select pg_advisory_lock($1)', [0x67_6c_6f_76])
    const queryMs = 500
    const opening = codeOf(open({ url, queryMs }))
    const waiting = () => ask(url, `select pid from pg_locks where locktype = 'advisory' and not granted`)
    await expect.poll(waiting).toHaveLength(1)
    // Far longer than any other call may take.
    await delay(queryMs * 4)
    expect(await waiting()).toHaveLength(1)
    await other.query('select pg_advisory_unlock_all()')
    expect(await opening).toBe('done')
    await other.end()
  })

  it('that hangs is answered for within a bound, then at once, and is used again when it wakes', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url, connectMs: 1_500, queryMs: 2_500 })
    await store.execs.insert(execRow())
    const answers: string[] = []
    const insert = async (): Promise<void> => void answers.push(await codeOf(store.execs.insert(execRow())))
    cluster.signal('SIGSTOP')
    try {
      // It hangs for as long as we like: that there are answers at all shows the bound.
      await Promise.all(Array.from({ length: 20 }, insert))
      const then = Array.from({ length: 5 }, insert)
      // Refused before anything of the network was looked at. One of them may have been let through to see.
      await new Promise(setImmediate)
      expect(answers.length).toBeGreaterThanOrEqual(24)
      await Promise.all(then)
      expect(answers).toEqual(Array.from({ length: 25 }, () => 'STORE_UNAVAILABLE'))
    } finally {
      cluster.signal('SIGCONT')
    }
    await expect.poll(() => codeOf(store.execs.count({}))).toBe('done')
    await expect.poll(() => codeOf(store.execs.insert(execRow()))).toBe('done')
  })

  it('that is not there at all is answered for in time, with what to look at', async () => {
    const begun = performance.now()
    const url = `postgres://nobody:secret-word@127.0.0.1:1/none`
    const error = await openStore({ url, connectMs: 500 }).then(
      () => undefined,
      (reason: unknown) => reason as { code: string; message: string; hint: string; operatorDetail: string },
    )
    expect(error?.code).toBe('STORE_UNAVAILABLE')
    expect([error?.message, error?.hint]).toEqual([
      'Cannot use the database: it cannot be reached',
      expect.stringContaining('DATABASE_URL'),
    ])
    expect(JSON.stringify({ ...error, message: error?.message })).not.toContain('secret-word')
    expect(performance.now() - begun).toBeLessThan(20_000)
  })

  it.each([
    ['asks for a password that the URL does not have', (url: string) => url.replace('glovebox@', 'guarded@')],
    ['has no TLS, which the URL demands', (url: string) => `${url}&sslmode=require`],
    ['does not know the database', (url: string) => url.replace(/store_\d+/, 'none')],
    ['has a URL that is none', () => 'postgres://[glovebox'],
  ])('that %s is told as a matter of DATABASE_URL', async (_how, urlOf) => {
    const url = cluster.createDatabase()
    await ask(
      url,
      `drop role if exists guarded; create role guarded login password 'secret-word';
       do $$ begin
         execute format('copy (values (%L), (%L)) to %L', 'local all guarded scram-sha-256', 'local all all trust',
           current_setting('hba_file'));
       end $$;
       select pg_reload_conf()`,
    )
    const opening = (): Promise<unknown> =>
      openStore({ url: urlOf(url) }).then(
        async (store) => await store.close(),
        (reason: unknown) => reason,
      )
    // The server reads its rules a moment later.
    await expect.poll(opening).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'Cannot use the database: it cannot be reached with this URL',
      hint: expect.stringContaining('DATABASE_URL') as string,
    })
  })

  it('whose host has no name, as when names are not told for a moment, is waited for as one that is away', async () => {
    const opening = openStore({ url: 'postgres://glovebox@database.invalid/none', connectMs: 5000 })
    expect(await codeOf(opening)).toBe('STORE_UNAVAILABLE')
    const message = await opening.catch((error: Error) => error.message)
    expect(message).toMatch(/it cannot be reached$|did not answer in time$/)
  })

  it('that takes nobody back after commits were lost is refused at once after a few', async () => {
    const wire = await openWire(cluster.createDatabase())
    const store = await open({ url: wire.url })
    await store.execs.insert(execRow())
    const told: string[] = []
    for (let times = 0; times < 3; times++) {
      wire.cutAtCommit('unheard', { isAway: true })
      await store.execs.insert(execRow()).catch((error: Error) => void told.push(error.message))
      if (times < 2) wire.heal()
    }
    await store.execs.count({}).catch((error: Error) => void told.push(error.message))
    const refused = told.pop()
    expect(told.filter((text) => text.includes('while it was committing'))).toHaveLength(3)
    expect(refused).toContain('did not answer the last calls')
    wire.heal()
    await expect.poll(() => codeOf(store.execs.count({}))).toBe('done')
    await store.close()
    await wire.remove()
  })
})
