// Servers that are alive, by the count of their heartbeats.
import type { OwnerTable } from '../contract/owner.ts'
import type { Engine } from './engine.ts'

export const createOwnerTable = (engine: Engine): OwnerTable => ({
  add: ({ owner, facts, created_at }) =>
    engine.write(async (database) => {
      await database
        .insertInto('owners')
        .values({ owner, facts: JSON.stringify(facts), beat: 0, created_at })
        .execute()
    }),
  beat: (owner) =>
    // After a power cut there is no heart that could have beaten.
    engine.write(
      async (database) => {
        const row = await database
          .updateTable('owners')
          .set((eb) => ({ beat: eb('beat', '+', 1) }))
          .where('owner', '=', owner)
          .returning('beat')
          .executeTakeFirst()
        return row?.beat
      },
      { durability: 'written' },
    ),
  list: () =>
    engine.read(async (database) => {
      const rows = await database.selectFrom('owners').selectAll().orderBy('created_at').orderBy('owner').execute()
      return rows.map((row) => ({ ...row, facts: JSON.parse(row.facts) as Record<string, unknown> }))
    }),
  remove: (owner) =>
    engine.write(async (database) => {
      await database.deleteFrom('owners').where('owner', '=', owner).execute()
    }),
})
