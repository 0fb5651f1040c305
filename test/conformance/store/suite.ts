// The whole contract of the store, for each engine the same. A database is new for every test.
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/contract/store.ts'
import { openEngine, openStore } from '../../../src/store/open.ts'
import { currentSchema, migrate } from '../../../src/store/migrations/migrate.ts'
import { describeCarried } from './carried.ts'
import { describeExecs } from './execs.ts'
import { describeKeys } from './keys.ts'
import { describeQueue } from './queue.ts'
import { execRow, tokenRow, type Subject } from './subject.ts'

export interface StoreKind {
  readonly kind: 'sqlite' | 'postgres'
  /** The URL of a new, empty database. */
  newDatabase(): string
}

export function describeStore({ kind, newDatabase }: StoreKind): void {
  const opened: Store[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()))
  })
  const open = async (url: string): Promise<Store> => {
    const store = await openStore({ url })
    opened.push(store)
    return store
  }
  const subject: Subject = {
    store: () => open(newDatabase()),
    stores: async (count) => {
      const url = newDatabase()
      // At once: the schema is made once nevertheless.
      return await Promise.all(Array.from({ length: count }, () => open(url)))
    },
  }

  describe(`store on ${kind}`, () => {
    describeExecs(subject)
    describeQueue(subject)
    describeKeys(subject)

    describe('the database', () => {
      it('what was answered is there for the next who opens it', async () => {
        const url = newDatabase()
        const first = await openStore({ url })
        const row = execRow()
        await first.execs.insert(row)
        await first.tokens.insert(tokenRow('t1'))
        const { installationId } = first
        await first.close()
        const second = await open(url)
        expect(await second.execs.find(row.exec_id)).toEqual(row)
        expect(await second.tokens.count()).toBe(1)
        expect(second.installationId).toBe(installationId)
        expect(installationId).toMatch(/^inst_[0-9a-f]{32}$/)
      })

      it('servers that start at once agree on one installation', async () => {
        const servers = await subject.stores(4)
        expect(new Set(servers.map(({ installationId }) => installationId)).size).toBe(1)
      })

      it('of the keys that servers offer at once, one is kept, and all are told it', async () => {
        const servers = await subject.stores(4)
        const offers = servers.map((_, index) => new Uint8Array(32).fill(index))
        const told = await Promise.all(servers.map((server, index) => server.serverKey(() => offers[index]!)))
        const asText = (key: Uint8Array): string => Buffer.from(key).toString('hex')
        expect(new Set(told.map(asText)).size).toBe(1)
        expect(offers.map(asText)).toContain(asText(told[0]!))
        const again = await servers[0]!.serverKey(() => {
          throw new Error('asked for a key though there is one')
        })
        expect(asText(again)).toBe(asText(told[0]!))
      })

      it('a key of the servers that was shortened or is no key is refused', async () => {
        const url = newDatabase()
        for (const value of ['', 'ab', 'ab'.repeat(31), 'xy'.repeat(32), `${'ab'.repeat(32)}a`]) {
          const { engine } = await openEngine({ url })
          await migrate(engine)
          await engine.write(async (database) => {
            await database.deleteFrom('meta').where('name', '=', 'server_key').execute()
            await database.insertInto('meta').values({ name: 'server_key', value }).execute()
          })
          await engine.close()
          const store = await open(url)
          const asked = store.serverKey(() => new Uint8Array(32))
          await expect(asked, value).rejects.toMatchObject({ code: 'STORE_INCOMPATIBLE' })
        }
      })

      it('health tells the engine, its version and the schema', async () => {
        const health = await (await subject.store()).health()
        expect(health).toMatchObject({ kind, schema: currentSchema })
        expect(health.version).toMatch(/^\d+\.\d+/)
        expect(health.latencyMs).toBeGreaterThanOrEqual(0)
      })

      it('a store that was closed refuses, and closing twice is closing once', async () => {
        const store = await openStore({ url: newDatabase() })
        await store.close()
        await store.close()
        await expect(store.tokens.count()).rejects.toThrow()
        await expect(store.tokens.insert(tokenRow('t'))).rejects.toThrow()
      })

      it('a database of a newer schema is refused and left alone', async () => {
        const url = newDatabase()
        const setSchema = async (version: string): Promise<void> => {
          const { engine } = await openEngine({ url })
          await migrate(engine)
          await engine.write((database) =>
            database.updateTable('meta').set({ value: version }).where('name', '=', 'schema').execute(),
          )
          await engine.close()
        }
        await setSchema(String(currentSchema + 1))
        await expect(openStore({ url })).rejects.toMatchObject({ code: 'STORE_INCOMPATIBLE' })
        const { engine } = await openEngine({ url })
        const meta = await engine.read((database) => database.selectFrom('meta').selectAll().execute())
        await engine.close()
        expect(meta).toContainEqual({ name: 'schema', value: String(currentSchema + 1) })
      })

      it("a database with another program's tables is refused and left alone", async () => {
        const url = newDatabase()
        const { engine } = await openEngine({ url })
        await engine.write((database) => sql`create table tokens (theirs text)`.execute(database))
        await expect(openStore({ url })).rejects.toMatchObject({ code: 'STORE_INCOMPATIBLE' })
        const tables = await engine.read((database) => database.introspection.getTables())
        await engine.close()
        expect(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)])).toEqual([
          ['tokens', ['theirs']],
        ])
      })

      it.each(Array.from({ length: currentSchema }, (_, version) => [version]))(
        'a database of schema %d becomes the newest one',
        async (version) => {
          const [old, fresh] = [newDatabase(), newDatabase()]
          const { engine } = await openEngine({ url: old })
          await migrate(engine, { upTo: version })
          await engine.close()
          const shapes = await Promise.all(
            [old, fresh].map(async (url) => {
              const { engine: each } = await openEngine({ url })
              expect((await migrate(each)).schema).toBe(currentSchema)
              const tables = await each.read((database) => database.introspection.getTables())
              await each.close()
              return tables
                .map(({ name, columns }) => ({ name, columns }))
                .toSorted((a, b) => (a.name < b.name ? -1 : 1))
            }),
          )
          expect(shapes[0]).toEqual(shapes[1])
          expect(shapes[0]?.map(({ name }) => name)).toContain('sandbox_execs')
        },
      )

      describeCarried({ kind, newDatabase })
    })
  })
}
