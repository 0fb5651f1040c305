// What the routes of a run have in common: how one is named, found and shown.
import { z } from 'zod'
import { deliverableSchema, idSchema, runRecordSchema } from '../../../contract/run.ts'
import type { RunRow } from '../../../contract/store.ts'
import type { RunHouse } from '../../../runtime/server/runs.ts'
import { notFound, type Principal } from '../principal.ts'
import { named } from '../route.ts'

export const runParams = z.strictObject({ run_id: idSchema })

/** What the index knows; the host path of the run is the operator's. */
export const runSummary = named(
  'RunSummary',
  runRecordSchema
    .pick({
      run_id: true,
      session_id: true,
      task_id: true,
      status: true,
      executor: true,
      failure_reason: true,
      created_at: true,
      updated_at: true,
    })
    .extend({ project: z.string().nullable() }),
)

const question = z.strictObject({
  id: z.string(),
  kind: z.enum(['question', 'approval']),
  text: z.string(),
  choices: z.array(z.string()).nullable(),
  askedAt: z.string(),
})

export const runDetail = named(
  'Run',
  z.strictObject({
    project: z.string().nullable(),
    record: runRecordSchema.nullable().describe('run.json; null where the record is damaged beyond reading.'),
    integrity: z.enum(['intact', 'torn', 'broken']),
    crashed: z.boolean().describe('Something was at work on it, and is gone.'),
    events: z.int().nonnegative(),
    questions: z.array(question).describe('Open ones, oldest first.'),
    deliverables: z.array(deliverableSchema),
    summary: z.string().nullable(),
  }),
)

export function summaryOf(row: RunRow) {
  const { run_id, session_id, task_id, status, executor, failure_reason, created_at, updated_at } = row
  const project = row.project_id
  return { run_id, session_id, task_id, status, executor, failure_reason, created_at, updated_at, project }
}

export async function runFor(house: RunHouse, runId: string, { project }: Principal): Promise<RunRow> {
  const row = await house.find(runId)
  if (row === undefined || (project !== null && row.project_id !== project)) throw notFound('run')
  return row
}
