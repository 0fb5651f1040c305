// Two servers on one PostgreSQL and one workspace, and a database that is restarted under load.
import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { openEngine } from '../../src/store/open.ts'
import { isRequired } from '../conformance/required.ts'
import {
  bytesOf,
  openJudged,
  readEvents,
  makePlace,
  shell,
  startExecServer,
  type ExecServer,
  type SeenEvent,
} from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { isGapless } from './exec-output.ts'
import { startFirst } from './first-server.ts'

interface ListPage {
  readonly items: readonly ExecRecord[]
  readonly next_cursor: string | null
}

/** As a server signs it. */
function cursorSigned(key: Uint8Array, project: string | null, said: unknown): string {
  const payload = Buffer.from(JSON.stringify(said)).toString('base64url')
  const signed = JSON.stringify(['execs', project, payload])
  const signature = createHmac('sha256', key).update(signed).digest().subarray(0, 16)
  return `${payload}.${signature.toString('base64url')}`
}

const ended = ({ ended_at }: ExecRecord): boolean => ended_at !== null

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))(
  'execs of two servers on one PostgreSQL',
  () => {
    let cluster: Cluster
    let one: ExecServer
    let other: ExecServer
    let url: string
    const startTwo = async (): Promise<void> => {
      one = await startExecServer({ env: { DATABASE_URL: url } })
      other = await startExecServer({
        env: { DATABASE_URL: url },
        token: one.token,
        flags: ['--data', join(one.place, 'data')],
      })
    }
    beforeAll(async () => {
      cluster = startCluster()
      url = cluster.createDatabase()
      await startTwo()
    })
    afterAll(async () => {
      await Promise.all([one, other].map((server) => server.stop()))
      await one.remove()
      await other.remove()
      cluster.remove()
    })

    it('serve the same execs: each can be listed, followed and cancelled at the one that does not run it', async () => {
      const made = await one.exec(shell('echo from one'))
      expect(await other.get(made.exec_id)).toEqual(made)
      expect((await other.ask('GET', `/sandbox/execs/${made.exec_id}/stdout`)).text).toBe('from one\n')
      // Nobody but the one that took it can run it: its variable is in no record.
      const command = 'for i in 1 2 3; do echo "line $i $OWN"; sleep 0.3; done; echo error >&2; sleep 60'
      const body = { project_id: 'seen', exec: { kind: 'shell', command, env: { OWN: 'value' } } }
      const running = await one.begin({ ...body, task_ref: { task_id: 'seen-by-both' } })
      const isAll = (events: readonly SeenEvent[]): boolean =>
        bytesOf(events, 'stdout').length === 39 && bytesOf(events, 'stderr').length === 6
      const path = `/sandbox/execs/${running.exec_id}/stream`
      const events = await readEvents(await other.fetch(path), isAll)
      expect((await other.ask('GET', '/sandbox/execs?task_id=seen-by-both')).json).toMatchObject({
        items: [{ exec_id: running.exec_id, status: 'RUNNING' }],
      })
      const health = async (server: ExecServer): Promise<unknown> => (await server.ask('GET', '/sandbox/health')).json
      expect([await health(one), await health(other)]).toMatchObject([
        { execs: { running: 1 } },
        { execs: { running: 0 } },
      ])
      const following = other.fetch(path, { headers: { 'last-event-id': events.at(-1)?.id ?? '' } })
      // One answers for what the other has to do: it may take until it has been done, or tell that it is asked for.
      expect([200, 202]).toContain((await other.ask('POST', `/sandbox/execs/${running.exec_id}/cancel`)).status)
      const all = [...events, ...(await readEvents(await following))]
      const end = await other.until(running.exec_id, ended)
      expect(end).toMatchObject({ status: 'CANCELLED', error_reason: 'cancelled' })
      expect(await one.get(running.exec_id)).toEqual(end)
      expect([isGapless(all, 'stdout'), isGapless(all, 'stderr')]).toEqual([true, true])
      expect(bytesOf(all, 'stdout').toString()).toBe('line 1 value\nline 2 value\nline 3 value\n')
      expect(bytesOf(all, 'stderr').toString()).toBe('error\n')
      expect(all.at(-1)).toMatchObject({ event: 'end', data: { exec: end } })
    })

    it('read on in each other’s lists, from wherever either of them stopped', async () => {
      const body = { ...shell('true'), task_ref: { task_id: 'paged' } }
      for (const server of [one, other, one, other, one]) await server.exec(body)
      const pageOf = async (server: ExecServer, query: string): Promise<ListPage> => {
        const { status, json } = await server.ask('GET', `/sandbox/execs?task_id=paged&${query}`)
        expect(status).toBe(200)
        return json as ListPage
      }
      const whole = await pageOf(one, 'limit=100')
      expect(whole.items).toHaveLength(5)
      for (const turns of [
        [one, other],
        [other, one],
      ]) {
        const seen: ExecRecord[] = []
        let cursor = ''
        for (let page = 0; page < 5; page++) {
          const { items, next_cursor } = await pageOf(turns[page % 2] ?? one, `limit=1${cursor}`)
          seen.push(...items)
          cursor = `&cursor=${next_cursor}`
        }
        expect(cursor).toBe('&cursor=null')
        expect(seen).toEqual(whole.items)
      }
    })

    it('take over the key of one that kept it in a file, so that pages of before go on when the file is gone', async () => {
      const place = makePlace()
      const file = join(place, 'state/keys/server.key')
      const key = randomBytes(32)
      mkdirSync(dirname(file), { mode: 0o700 })
      writeFileSync(file, key, { mode: 0o600 })
      const env = { DATABASE_URL: cluster.createDatabase() }
      const first = await startExecServer({ place, env })
      for (let made = 0; made < 2; made++) await first.exec(shell('true'))
      const page = (await first.ask('GET', '/sandbox/execs?limit=1')).json as ListPage
      const [{ created_at, exec_id }] = page.items as [ExecRecord]
      expect(page.next_cursor).toBe(cursorSigned(key, null, [created_at, exec_id]))
      expect(await first.stop()).toBe(0)
      rmSync(file)
      const later = await startExecServer({ place, env })
      const next = await later.ask('GET', `/sandbox/execs?limit=1&cursor=${page.next_cursor}`)
      expect([next.status, (next.json as ListPage).items.length]).toEqual([200, 1])
      expect(existsSync(file)).toBe(false)
      await later.stop()
      await later.remove()
    })

    it("a cursor made up with the key out of the database shows nobody else's rows, and faults nothing", async () => {
      const tokenOf = async (project: string): Promise<string> => {
        const made = await one.ask('POST', '/tokens', { body: { name: project, scopes: ['read', 'exec'], project } })
        return (made.json as { readonly token: string }).token
      }
      const [mine, theirs] = [await tokenOf('mine'), await tokenOf('theirs')]
      const begin = (token: string) =>
        one.ask('POST', '/sandbox/execs', { body: { exec: { kind: 'shell', command: 'true' } }, token })
      for (const token of [mine, theirs, mine, theirs]) expect((await begin(token)).status).toBe(200)
      const list = async (token: string, query: string) => other.ask('GET', `/sandbox/execs?${query}`, { token })
      const [own, foreign] = await Promise.all([mine, theirs].map(async (token) => (await list(token, '')).json))
      const { items: ownExecs } = own as ListPage
      const [newest] = (foreign as ListPage).items
      expect(new Set(ownExecs.map(({ project_id }) => project_id))).toEqual(new Set(['mine']))

      const { engine } = await openEngine({ url })
      const key = await engine.read((database) =>
        database.selectFrom('meta').select('value').where('name', '=', 'server_key').executeTakeFirstOrThrow(),
      )
      await engine.close()
      const forged = (project: string | null, said: unknown): string =>
        `cursor=${cursorSigned(Buffer.from(key.value, 'hex'), project, said)}`
      const behindTheirs = [newest?.created_at, newest?.exec_id]
      // The last that was made is theirs, so both of its own are behind it.
      expect((await list(mine, forged('mine', behindTheirs))).json).toEqual({ items: ownExecs, next_cursor: null })
      expect((await list(mine, forged('mine', ['9', 'z']))).json).toEqual({ items: ownExecs, next_cursor: null })
      const bad: readonly (readonly [string | null, unknown])[] = [
        ['theirs', behindTheirs],
        [null, behindTheirs],
        ['mine', ['2026', 'a\0b']],
        ['mine', [{}, null]],
        ['mine', 7],
      ]
      for (const [project, said] of bad)
        expect(await list(mine, forged(project, said)), JSON.stringify(said)).toMatchObject({
          status: 400,
          json: { error: { code: 'INVALID_CURSOR' } },
        })
    })

    it('give one key to one body: of two that come at once, one to each, one is an exec and the other a conflict', async () => {
      const send = async (name: 'one' | 'other', index: number) => {
        const body = {
          ...shell(`echo ${name} >> of-${index}`),
          project_id: 'pairs',
          task_ref: { task_id: `pair-${index}` },
        }
        const headers = { 'idempotency-key': `pair-${index}` }
        const { status, json } = await (name === 'one' ? one : other).ask('POST', '/sandbox/execs', { body, headers })
        return { name, status, json }
      }
      const pairs = await Promise.all(
        Array.from({ length: 12 }, (_, index) => {
          const [first, second] = index % 2 === 0 ? (['one', 'other'] as const) : (['other', 'one'] as const)
          return Promise.all([send(first, index), send(second, index)])
        }),
      )
      for (const [index, pair] of pairs.entries()) {
        const [taken, refused] = pair.toSorted((a, b) => a.status - b.status)
        expect([taken, refused]).toMatchObject([
          { status: 200, json: { status: 'SUCCEEDED' } },
          { status: 409, json: { error: { code: 'IDEMPOTENCY_MISMATCH' } } },
        ])
        for (const server of [one, other]) {
          const { json } = await server.ask('GET', `/sandbox/execs?task_id=pair-${index}`)
          expect(json).toEqual({ items: [taken?.json], next_cursor: null })
        }
        const ran = readFileSync(join(one.workspace, `projects/pairs/work/of-${index}`), 'utf8')
        expect(ran).toBe(`${taken?.name}\n`)
      }
    })

    it('give one key to one body, whichever of them had it first', async () => {
      for (const [first, second] of [
        [one, other],
        [other, one],
      ] as const) {
        const headers = { 'idempotency-key': `first-at-${first.url}` }
        const send = (server: ExecServer, command: string) =>
          server.ask('POST', '/sandbox/execs', { body: { ...shell(command), project_id: 'pairs' }, headers })
        expect(await send(first, 'exit 0')).toMatchObject({ status: 200, json: { status: 'SUCCEEDED' } })
        expect(await send(second, 'exit 1')).toMatchObject({
          status: 409,
          json: { error: { code: 'IDEMPOTENCY_MISMATCH' } },
        })
      }
    })

    it('that are the first ones of a database, and begin at once, make one first token', async () => {
      const empty = cluster.createDatabase()
      const servers = await Promise.all(Array.from({ length: 3 }, () => startFirst(empty)))
      try {
        const files = servers.map(({ tokenFile }) => tokenFile).filter((file) => existsSync(file))
        expect(files).toHaveLength(1)
        const token = readFileSync(files[0] ?? '', 'utf8').trim()
        for (const { url: each } of servers) {
          const { judged } = await openJudged(each, token)
          const page: unknown = await (await judged('/tokens')).json()
          expect(page).toMatchObject({ items: [{ name: 'first' }], next_cursor: null })
        }
      } finally {
        await Promise.all(servers.map(({ stop }) => stop()))
      }
    })

    it('run each exec once, and one key is one exec at both', async () => {
      const send = (server: ExecServer, index: number) =>
        server.exec(shell(`echo ran >> once-${index}; cat once-${index}`), { 'idempotency-key': `key-${index}` })
      const all = await Promise.all(
        Array.from({ length: 12 }, (_, index) => [send(one, index), send(other, index)]).flat(),
      )
      expect(new Set(all.map(({ exec_id }) => exec_id)).size).toBe(12)
      for (let index = 0; index < 12; index++)
        expect(readFileSync(join(one.workspace, `projects/demo/work/once-${index}`), 'utf8')).toBe('ran\n')
    })

    it('one that is killed leaves its execs to the other', async () => {
      const running = await Promise.all(Array.from({ length: 8 }, () => one.begin(shell('sleep 30'))))
      await one.until(running[0]?.exec_id ?? '', ({ status }) => status === 'RUNNING')
      await one.kill()
      const queued = await other.begin({ ...shell('echo after'), project_id: 'after' })
      for (const { exec_id } of running) await other.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
      const ends = await Promise.all(running.map(({ exec_id }) => other.until(exec_id, ended, 30_000)))
      expect(ends.every(({ status }) => status === 'LOST' || status === 'CANCELLED')).toBe(true)
      expect(await other.until(queued.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED' })
      one = await startExecServer({ place: one.place, env: { DATABASE_URL: url }, token: other.token })
    })

    it('a database that is restarted under load loses nothing that was answered', async () => {
      const answered: ExecRecord[] = []
      let isOver = false
      const call = async (server: ExecServer, client: number): Promise<void> => {
        for (let index = 0; !isOver; index++) {
          const sent = await server
            .ask('POST', '/sandbox/execs?wait=false', {
              body: { ...shell(`echo ${client}-${index}`), project_id: `load-${client}` },
            })
            .catch(() => undefined)
          if (sent?.status === 202) answered.push(sent.json as ExecRecord)
          else await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      const calling = Promise.all(
        [one, other].flatMap((server, at) => [0, 1].map((client) => call(server, at * 2 + client))),
      )
      const untilMore = async (more: number): Promise<void> => {
        for (const enough = answered.length + more; answered.length < enough;)
          await new Promise((resolve) => setTimeout(resolve, 20))
      }
      for (const how of ['fast', 'immediate'] as const) {
        await untilMore(10)
        cluster.stop(how)
        await new Promise((resolve) => setTimeout(resolve, 300))
        cluster.start()
      }
      await untilMore(10)
      isOver = true
      await calling
      expect(answered.length).toBeGreaterThan(20)
      for (const { exec_id, artifacts_dir } of answered) {
        const end = await other.until(exec_id, ended, 60_000)
        expect(end.status).toBe('SUCCEEDED')
        const {
          layout: _layout,
          image_asked: _asked,
          boundary_id: _id,
          mounts: _mounts,
          ...meta
        } = JSON.parse(readFileSync(join(one.workspace, artifacts_dir, 'meta.json'), 'utf8')) as ExecMeta
        expect(meta).toEqual(end)
      }
    })

    it('a server whose database is not there, or does not answer, is not ready, and ready again after', async () => {
      // As an orchestrator asks, without a token.
      const readiness = async (): Promise<string> => {
        const answered = await other.fetch('/readyz', { token: null })
        return `${answered.status} ${((await answered.json()) as { status: string }).status}`
      }
      const untilIs = async (told: string): Promise<void> => {
        await expect.poll(readiness, { timeout: 60_000 }).toBe(told)
      }
      await untilIs('200 ready')
      cluster.stop()
      await untilIs('503 degraded')
      expect((await other.fetch('/healthz', { token: null })).status).toBe(200)
      cluster.start()
      await untilIs('200 ready')
      cluster.signal('SIGSTOP')
      try {
        await untilIs('503 degraded')
      } finally {
        cluster.signal('SIGCONT')
      }
      await untilIs('200 ready')
    })
  },
)
