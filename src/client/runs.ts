// Runs on a server: started once however often the request had to be sent, followed by their events, and decided about.
// Fields have the names of the files that describe a run.
import type { ArtifactManifest } from '../contract/artifact.ts'
import type { RunEvent } from '../contract/event.ts'
import type { PolicyValues } from '../contract/policy.ts'
import type { Deliverable, RunRecord, RunStatus } from '../contract/run.ts'
import { download } from './download.ts'
import { followEvents } from './follow.ts'
import { newKey } from './key.ts'
import { make } from './make.ts'
import { eachOf, type Page, type PageOptions } from './pages.ts'
import { pathOf } from './path.ts'
import type { Asked, Server } from './server.ts'

export interface RunCreateRequest {
  readonly project?: string
  /** Needed unless `revises` names a run. */
  readonly prompt?: string
  /** No shell reads it. */
  readonly command?: readonly string[]
  readonly executor?: 'command' | 'model'
  readonly backend?: string
  readonly policy?: PolicyValues
  readonly env?: Readonly<Record<string, string>>
  readonly deliverables?: readonly (string | { readonly path: string; readonly allowEmpty?: boolean })[]
  readonly review?: boolean
  readonly title?: string
  readonly run_id?: string
  readonly session_id?: string
  readonly task_id?: string
  /** A run that was sent back, and is done again. */
  readonly revises?: string
}

export type RunSummary = Pick<
  RunRecord,
  'run_id' | 'session_id' | 'task_id' | 'status' | 'executor' | 'failure_reason' | 'created_at' | 'updated_at'
> & { readonly project: string | null }

export interface RunQuestion {
  readonly id: string
  readonly kind: 'question' | 'approval'
  readonly text: string
  readonly choices: readonly string[] | null
  readonly askedAt: string
}

export interface RunDetail {
  readonly project: string | null
  /** Null where the record is damaged beyond reading. */
  readonly record: RunRecord | null
  readonly integrity: 'intact' | 'torn' | 'broken'
  /** Something was at work on it, and is gone. */
  readonly crashed: boolean
  readonly events: number
  readonly questions: readonly RunQuestion[]
  readonly deliverables: readonly Deliverable[]
  readonly summary: string | null
}

export interface RunFilter {
  readonly project?: string
  readonly session_id?: string
  readonly task_id?: string
  readonly status?: RunStatus
}

export interface Runs {
  /** Answers when the run is on disk; it goes on behind. A signal cancels what is made all the same, unless a key of the caller's names it. */
  create(
    request: RunCreateRequest,
    options?: { readonly idempotencyKey?: string; readonly signal?: AbortSignal },
  ): Promise<RunSummary>
  get(runId: string, options?: { readonly signal?: AbortSignal }): Promise<RunDetail>
  list(filter?: RunFilter, options?: PageOptions): Promise<Page<RunSummary>>
  /** Of every page. */
  each(filter?: RunFilter, options?: { readonly signal?: AbortSignal }): AsyncGenerator<RunSummary, void>
  /** From `after` on, and then those to come, until the run has ended or who was at work on it is gone. One that waits for review goes on
   * waiting here, too: leave with the signal. */
  events(
    runId: string,
    options?: { readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncGenerator<RunEvent, void>
  /** Those that are written, a page at a time. */
  eventPage(
    runId: string,
    options?: { readonly after?: number; readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<{ readonly items: readonly RunEvent[]; readonly next_after: number | null }>
  /** `recorded` is false before the end: the files as they are now. */
  artifacts(runId: string): Promise<ArtifactManifest & { readonly recorded: boolean }>
  /** The bytes of one file, as they come: `deliverables/report.md`. */
  read(runId: string, path: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<Uint8Array, void>
  cancel(runId: string): Promise<RunRecord>
  /** `taken`: the run has read it. */
  answer(
    runId: string,
    text: string,
    options?: { readonly question?: string },
  ): Promise<{ readonly question: string; readonly taken: boolean }>
  approve(runId: string, options?: { readonly message?: string; readonly acceptChanges?: boolean }): Promise<RunRecord>
  /** The next attempt is a new run: `create` with `revises`. */
  revise(runId: string, message: string): Promise<RunRecord>
}

const root = '/runs'
/** The server waits for the run itself before it answers. */
const decisionMs = 90_000

export function remoteRuns(server: Server): Runs {
  const placeOf = (runId: string): string => `${root}/${encodeURIComponent(runId)}`
  const decide = <Value>(runId: string, verb: string, json: unknown, more: Partial<Asked> = {}): Promise<Value> =>
    server.json({
      method: 'POST',
      path: `${placeOf(runId)}/${verb}`,
      json,
      answerMs: decisionMs,
      doing: `${verb} the run`,
      ...more,
    })
  const list: Runs['list'] = (filter = {}, { signal, ...page } = {}) =>
    server.json({ method: 'GET', path: root, query: { ...filter, ...page }, signal, doing: 'list the runs' })
  const get: Runs['get'] = (runId, { signal } = {}) =>
    server.json({ method: 'GET', path: placeOf(runId), signal, doing: 'find the run' })
  // A run that is cancelled already stays so.
  const cancel: Runs['cancel'] = (runId) => decide(runId, 'cancel', {}, { repeatable: true })

  return {
    create: (request, { idempotencyKey, signal } = {}) => {
      const asked = { method: 'POST', path: root, json: request, signal, doing: 'start the run' } as const
      if (idempotencyKey !== undefined) return server.json({ ...asked, idempotencyKey })
      return make<RunSummary>(server, { ...asked, idempotencyKey: newKey() }, ({ run_id }) => cancel(run_id))
    },
    get,
    list,
    each: (filter, options = {}) =>
      eachOf((cursor) => list(filter, cursor === undefined ? options : { ...options, cursor })),
    async *events(runId, { after, signal } = {}) {
      const followed = {
        path: `${placeOf(runId)}/events`,
        doing: 'follow the run',
        isLast: ({ event }: { readonly event: string }): boolean => event === 'run_ended',
        isOver: async () => hasEnded(await get(runId, signal === undefined ? {} : { signal })),
        after: after === undefined ? undefined : String(after),
        signal,
      }
      for await (const { data } of followEvents(server, followed)) yield JSON.parse(data) as RunEvent
    },
    eventPage: (runId, { signal, ...query } = {}) =>
      server.json({
        method: 'GET',
        path: `${placeOf(runId)}/events`,
        query,
        signal,
        doing: 'read the events of the run',
      }),
    artifacts: (runId) =>
      server.json({ method: 'GET', path: `${placeOf(runId)}/artifacts`, doing: 'list the artifacts' }),
    async *read(runId, path, { signal } = {}) {
      yield* download(server, {
        path: `${placeOf(runId)}/artifacts/${pathOf(path)}`,
        signal,
        doing: 'read the artifact',
      })
    },
    cancel,
    answer: (runId, text, { question } = {}) => decide(runId, 'answer', { text, question }),
    approve: (runId, { message, acceptChanges } = {}) =>
      decide(runId, 'approve', { message, accept_changes: acceptChanges }),
    revise: (runId, message) => decide(runId, 'revise', { message }),
  }
}

const ended: ReadonlySet<string> = new Set<RunStatus>(['completed', 'failed', 'cancelled', 'lost'])

const hasEnded = ({ record, crashed }: RunDetail): boolean => crashed || record === null || ended.has(record.status)
