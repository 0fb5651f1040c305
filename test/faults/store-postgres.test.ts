// PostgreSQL: restarted, cut off, read-only and hanging. What was answered is there once; what was not is said so in time.
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/contract/store.ts'
import { openStore, type StoreOptions } from '../../src/store/open.ts'
import { at, execRow } from '../conformance/store/subject.ts'
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
      for (const each of [row, other]) await store.execs.requestCancel(each.exec_id, at(2))
    }
    await store.close()
    await wire.remove()
  })

  it('that is read-only is answered for, and its connections are not used again', async () => {
    const url = cluster.createDatabase()
    const store = await open({ url })
    await store.execs.insert(execRow())
    await ask(url, `alter role glovebox set default_transaction_read_only = on`)
    await endOthers(url)
    expect(await codeOf(store.execs.insert(execRow()))).toBe('STORE_UNAVAILABLE')
    // The server notices a moment later that one was closed; one that is kept would stay for ten seconds.
    const pids = () => ask(url, `select pid from pg_stat_activity where application_name = 'glovebox'`)
    await expect.poll(pids, { timeout: 6000 }).toEqual([])
    await ask(url, `begin read write; alter role glovebox reset default_transaction_read_only; commit`)
    expect(await codeOf(store.execs.insert(execRow()))).toBe('done')
    expect(await store.execs.count({})).toBe(2)
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
    expect(JSON.stringify({ ...error, message: error?.message })).not.toContain('secret-word')
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
