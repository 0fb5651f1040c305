// Runs: made, listed, looked at, and decided about. What is done is done by the same functions as on the command line.
import { z } from 'zod'
import { policyValuesSchema } from '../../../contract/policy.ts'
import { idSchema, newRunId, runRecordSchema, runStatuses } from '../../../contract/run.ts'
import type { RunRow } from '../../../contract/store.ts'
import { projectSchema } from '../../../contract/token.ts'
import { readStanding } from '../../../runtime/runs/details.ts'
import { approve, sendBack } from '../../../runtime/runs/review.ts'
import { answerRun, cancelRun } from '../../../runtime/runs/words.ts'
import type { Once } from '../../../runtime/server/idempotency.ts'
import type { RunHouse } from '../../../runtime/server/runs.ts'
import { json } from '../answer.ts'
import { answerPage, pageQuery, type Lister } from '../cursor.ts'
import { projectFor, visibleProject, type Principal } from '../principal.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { keysKept, onceRequest } from './once-request.ts'
import { runDetail, runFor, runParams, runSummary, summaryOf } from './run-words.ts'
import { environmentSchema } from './sandboxes.ts'

export interface RunParts {
  readonly runs: RunHouse
  readonly once: Once
  readonly lister: Lister
}

const tag = 'runs'
const cancelWaitMs = 30_000
const answerWaitMs = 5000

export const runRequest = named(
  'RunRequest',
  z
    .strictObject({
      project: projectSchema.optional(),
      prompt: z.string().min(1).max(500_000).optional().describe('Needed unless `revises` names a run.'),
      command: z.array(z.string().max(131_072)).min(1).max(1000).optional().describe('No shell reads it.'),
      executor: z.enum(['command', 'model']).optional(),
      backend: z.string().min(1).max(50).optional(),
      policy: policyValuesSchema.optional(),
      env: environmentSchema.optional(),
      deliverables: z
        .array(
          z.union([
            z.string().min(1).max(4096),
            z.strictObject({ path: z.string().min(1).max(4096), allowEmpty: z.boolean().optional() }),
          ]),
        )
        .max(1000)
        .optional(),
      review: z.boolean().optional(),
      title: z.string().min(1).max(500).optional(),
      run_id: idSchema
        .optional()
        .describe(
          'Default: one of chance. Ids are those of the whole server, so one that can be guessed may be taken.',
        ),
      session_id: idSchema.optional(),
      task_id: idSchema.optional(),
      revises: idSchema.optional().describe('A run that was sent back, and is done again.'),
    })
    .refine(({ prompt, revises }) => prompt !== undefined || revises !== undefined, {
      path: ['prompt'],
      message: 'is needed unless `revises` names a run',
    }),
)
export const runQuery = z.strictObject({
  ...pageQuery,
  project: projectSchema.optional(),
  session_id: idSchema.optional(),
  task_id: idSchema.optional(),
  status: z.enum(runStatuses).optional(),
})
const page = named('RunPage', z.strictObject({ items: z.array(runSummary.schema), next_cursor: z.string().nullable() }))
const record = named('RunRecord', runRecordSchema)
const nothing = named('EmptyRequest', z.strictObject({}))
export const runAnswered = named('RunAnswered', z.strictObject({ question: z.string(), taken: z.boolean() }))
export const runAnswer = named(
  'RunAnswerRequest',
  z.strictObject({ text: z.string().min(1).max(65_536), question: idSchema.optional() }),
)
export const runApproval = named(
  'RunApproveRequest',
  z.strictObject({ message: z.string().min(1).max(8000).optional(), accept_changes: z.boolean().optional() }),
)
export const runRevision = named('RunReviseRequest', z.strictObject({ message: z.string().min(1).max(8000) }))
const decision = ['ILLEGAL_TRANSITION', 'RUN_ENDED', 'RECORD_DAMAGED', 'BUSY', 'CONFLICT'] as const

export const runRoutes: RouteModule<RunParts> = ({ runs, once, lister }) => {
  /** The index follows the files after each decision. */
  const deciding = async <Value>(
    runId: string,
    principal: Principal,
    decide: (row: RunRow) => Promise<Value>,
  ): Promise<Value> => {
    const row = await runFor(runs, runId, principal)
    await runs.whenAtRest(row)
    try {
      return await decide(row)
    } finally {
      await runs.refresh(row)
    }
  }
  return [
    defineRoute({
      method: 'post',
      path: '/runs',
      tag,
      audit: 'runs.create',
      summary: 'Start a run.',
      description: 'Answers when the run is on disk; follow it by its events.',
      scope: 'exec',
      body: runRequest,
      headers: { 'Idempotency-Key': `One run, however often it is sent. ${keysKept}` },
      answers: { 201: { description: 'It is made, and goes on.', json: runSummary } },
      errors: [
        'INVALID_ENV',
        'POLICY_ESCALATION',
        'POLICY_UNENFORCEABLE',
        'ALREADY_EXISTS',
        'ILLEGAL_TRANSITION',
        'RECORD_DAMAGED',
        'IDEMPOTENCY_MISMATCH',
        'BACKEND_UNAVAILABLE',
        'SECRET_UNAVAILABLE',
      ],
      handle: async (call) => {
        const { body, principal } = call
        const project = projectFor(principal, body.project)
        const revised = body.revises === undefined ? undefined : await runFor(runs, body.revises, principal)
        const { prompt = '', run_id: chosen, session_id: sessionId, task_id: taskId, revises: _revises, ...rest } = body
        const isChosen = chosen !== undefined
        const asked = { ...onceRequest(call, project, () => chosen ?? newRunId()), isChosen }
        const made = await once.perform(asked, async ({ subject: runId, ...bound }) => {
          const revises = revised?.directory
          const { tokenId } = principal
          const wanted = { ...rest, prompt, project, tokenId, runId, sessionId, taskId, revises }
          return summaryOf(await runs.createOnce(wanted, { ...bound, isChosen }))
        })
        return json(201, made, { location: `/runs/${made.run_id}` })
      },
    }),
    defineRoute({
      method: 'get',
      path: '/runs',
      tag,
      summary: 'List runs.',
      scope: 'read',
      query: runQuery,
      answers: { 200: { description: 'Newest first.', json: page } },
      errors: ['INVALID_CURSOR'],
      handle: async ({ query, principal }) => {
        const { session_id, task_id, status } = query
        const project_id = visibleProject(principal, query.project)
        const filter = { project_id, session_id, task_id, status: status === undefined ? undefined : [status] }
        const asked = { list: `runs ${JSON.stringify(filter)}`, principal, query }
        return json(200, await answerPage(lister, asked, (at) => runs.list(filter, at), summaryOf))
      },
    }),
    defineRoute({
      method: 'get',
      path: '/runs/{run_id}',
      tag,
      summary: 'One run as its files tell it.',
      scope: 'read',
      params: runParams,
      answers: { 200: { description: 'The run.', json: runDetail } },
      handle: async ({ params, principal }) => {
        const row = await runFor(runs, params.run_id, principal)
        const standing = await readStanding(row.directory, 0)
        const { integrity, isCrashed: crashed, events, questions, task, summary } = standing
        const deliverables = task?.deliverables ?? []
        const told = { integrity, crashed, events, questions, deliverables, summary }
        return json(200, { project: row.project_id, record: standing.record, ...told })
      },
    }),
    defineRoute({
      method: 'post',
      path: '/runs/{run_id}/cancel',
      tag,
      audit: 'runs.cancel',
      summary: 'End a run.',
      scope: 'exec',
      endsOnly: true,
      whileDraining: true,
      params: runParams,
      body: nothing,
      answers: { 200: { description: 'It is cancelled, now or already.', json: record } },
      errors: [...decision, 'TIMED_OUT'],
      handle: async ({ params, principal, signal }) =>
        deciding(params.run_id, principal, async ({ directory, run_id: runId }) =>
          json(200, (await cancelRun({ directory, runId }, { waitMs: cancelWaitMs, signal })).record),
        ),
    }),
    defineRoute({
      method: 'post',
      path: '/runs/{run_id}/answer',
      tag,
      audit: 'runs.answer',
      summary: 'Answer what a run asks.',
      scope: 'exec',
      whileDraining: true,
      params: runParams,
      body: runAnswer,
      answers: { 200: { description: '`taken` tells whether the run has read it yet.', json: runAnswered } },
      errors: decision,
      handle: async ({ params, body, principal, signal }) =>
        deciding(params.run_id, principal, async ({ directory, run_id: runId }) => {
          const { question, isTaken } = await answerRun({ directory, runId }, body, { waitMs: answerWaitMs, signal })
          return json(200, { question: question.id, taken: isTaken })
        }),
    }),
    defineRoute({
      method: 'post',
      path: '/runs/{run_id}/approve',
      tag,
      audit: 'runs.approve',
      summary: 'Accept a run that waits for review.',
      scope: 'exec',
      params: runParams,
      body: runApproval,
      answers: { 200: { description: 'How it stands now.', json: record } },
      errors: decision,
      handle: async ({ params, body, principal }) =>
        deciding(params.run_id, principal, async ({ directory, run_id: runId }) => {
          const { message, accept_changes: acceptChanges } = body
          const options = {
            ...(message === undefined ? {} : { message }),
            ...(acceptChanges === undefined ? {} : { acceptChanges }),
          }
          return json(200, (await approve({ directory, runId }, options)).record)
        }),
    }),
    defineRoute({
      method: 'post',
      path: '/runs/{run_id}/revise',
      tag,
      audit: 'runs.revise',
      summary: 'Send a run back.',
      description: 'The next attempt is a new run: POST /runs with `revises`.',
      scope: 'exec',
      params: runParams,
      body: runRevision,
      answers: { 200: { description: 'How it stands now.', json: record } },
      errors: decision,
      handle: async ({ params, body, principal }) =>
        deciding(params.run_id, principal, async ({ directory, run_id: runId }) =>
          json(200, (await sendBack({ directory, runId }, body.message)).record),
        ),
    }),
  ]
}
