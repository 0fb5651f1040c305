// The index of runs. Each run's directory is the truth; a row only lets it be found.
import type { RunFilter, RunRow, RunTable } from '../contract/store.ts'
import type { Engine } from './engine.ts'
import { isOneOf } from './filters.ts'
import { pageOf, refusePageSize } from './pages.ts'
import { refuseUnstorable } from './text.ts'

export const createRunTable = (engine: Engine): RunTable => ({
  insert: async (row) => {
    refuseUnstorable({ ...row })
    return await engine.write(async (database) => {
      const { numInsertedOrUpdatedRows } = await database
        .insertInto('runs')
        .values(row)
        .onConflict((conflict) => conflict.column('run_id').doNothing())
        .executeTakeFirst()
      return numInsertedOrUpdatedRows === 1n
    })
  },
  put: async (row, options) => {
    refuseUnstorable({ ...row })
    await engine.write(async (database) => {
      await database
        .insertInto('runs')
        .values(row)
        .onConflict((conflict) =>
          conflict.column('run_id').doUpdateSet(row).where('runs.state_seq', '<=', row.state_seq),
        )
        .execute()
    }, options)
  },
  find: (runId) =>
    engine.read((database) => database.selectFrom('runs').selectAll().where('run_id', '=', runId).executeTakeFirst()),
  list: async (filter, page) => {
    refusePageSize(page)
    const { after, limit } = page
    const rows = await engine.read((database) =>
      database
        .selectFrom('runs')
        .selectAll()
        .where((eb) =>
          eb.and([
            ...(['project_id', 'session_id', 'task_id'] as const satisfies readonly (keyof RunFilter)[]).flatMap(
              (column) => (filter[column] === undefined ? [] : [eb(column, '=', filter[column])]),
            ),
            ...(filter.status === undefined ? [] : [isOneOf(eb, filter.status)]),
            ...(after === undefined
              ? []
              : [eb(eb.refTuple('created_at', 'run_id'), '<', eb.tuple(after.created_at, after.id))]),
          ]),
        )
        .orderBy('created_at', 'desc')
        .orderBy('run_id', 'desc')
        .limit(limit + 1)
        .execute(),
    )
    return pageOf<RunRow>(rows, page, ({ run_id }) => run_id)
  },
  remove: (runId) =>
    engine.write(async (database) => {
      await database.deleteFrom('runs').where('run_id', '=', runId).execute()
    }),
})
