// Runs that are made through the server: each in a directory of its project, at work in this process, and findable through
// the index. The directory is the truth; the index is brought up to date as the run goes on, and again when a server starts
// and finds runs that nobody works on any more.
import { join } from 'node:path'
import type { RunEvent } from '../../contract/event.ts'
import { isTerminal, newRunId, runStatuses, type RunStatus } from '../../contract/run.ts'
import type { Page, PageRequest, RunFilter, RunRow, RunTable } from '../../contract/store.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { findRunJson } from '../../runs/reader.ts'
import { lookAtRun } from '../runs/look.ts'
import type { RunRequest } from '../runs/request.ts'
import { recover } from '../runs/review.ts'
import { startRun } from '../runs/start.ts'
import { composeServedRun, type ServedRunParts, type ServedRunRequest } from './run-request.ts'

export type { ServedRunRequest }

export interface RunHouse {
  /** Answers when the run is on disk; it goes on behind. */
  create(request: ServedRunRequest): Promise<RunRow>
  find(runId: string): Promise<RunRow | undefined>
  list(filter: RunFilter, page: PageRequest): Promise<Page<RunRow>>
  /** What the files say now. */
  refresh(row: RunRow): Promise<RunRow>
  /** Ends runs of an earlier server that nobody works on. How many there were. */
  recover(): Promise<number>
  readonly running: number
  /** Cancels all of them, with the reason `drained`, and waits for their ends. */
  stop(): Promise<void>
}

export interface RunHouseOptions extends ServedRunParts {
  /** Runs lie below it by project. */
  readonly root: string
  readonly index: RunTable
  readonly maxRunning: number
  readonly onFault: (error: unknown, runId: string) => void
}

interface AtWork {
  readonly cancel: AbortController
  readonly finished: Promise<void>
}

const unended: readonly RunStatus[] = runStatuses.filter((status) => !isTerminal(status))
const recoverRows = 1000

export function openRunHouse(options: RunHouseOptions): RunHouse {
  const { root, index, onFault } = options
  const working = new Map<string, AtWork>()
  let isStopping = false

  const refresh = async (row: RunRow): Promise<RunRow> => {
    const record = findRunJson(row.directory)
    if (record === undefined || record.state_seq <= row.state_seq) return row
    const { status, executor, failure_reason, updated_at, state_seq } = record
    const fresh = { ...row, status, executor, failure_reason, updated_at, state_seq }
    await index.put(fresh)
    return fresh
  }

  /** Settles at the first event, which is written when the directory is there; what follows is told by the run itself. */
  const begin = (request: RunRequest, runId: string): Promise<RunEvent> =>
    new Promise((resolve, reject) => {
      const cancel = new AbortController()
      const onEvent = (event: RunEvent): void => {
        if (event.type === 'run_created') resolve(event)
        if (event.type === 'state_changed' || event.type === 'run_ended') soon(runId)
      }
      const finished = startRun({ ...request, signal: cancel.signal, onEvent })
        .then(
          ({ error }) => {
            if (error !== undefined && !isRefusal(error)) onFault(error, runId)
          },
          (error: unknown) => {
            // After the first event nobody waits for this any more, and the log of the run cannot tell it.
            if (!isRefusal(error)) onFault(error, runId)
            reject(error instanceof Error ? error : new Error(String(error)))
          },
        )
        .finally(() => {
          working.delete(runId)
          soon(runId)
        })
      working.set(runId, { cancel, finished })
    })

  const soon = (runId: string): void => {
    const update = async (): Promise<void> => {
      const row = await index.find(runId)
      if (row !== undefined) await refresh(row)
    }
    setImmediate(() => void update().catch((error: unknown) => onFault(error, runId)))
  }

  return {
    async create(request) {
      if (working.size >= options.maxRunning) throw full(options.maxRunning)
      const runId = request.runId ?? newRunId()
      if (working.has(runId) || (await index.find(runId)) !== undefined) throw taken(runId)
      const directory = join(root, request.project, runId)
      const composed = await composeServedRun(request, options, { runId, directory, isDrained: () => isStopping })
      const created = await begin(composed, runId)
      const row: RunRow = {
        run_id: runId,
        session_id: created.session_id,
        task_id: created.task_id,
        project_id: request.project,
        directory,
        status: 'pending',
        executor: composed.executor.name,
        failure_reason: null,
        created_at: created.timestamp,
        updated_at: created.timestamp,
        state_seq: created.seq,
      }
      await index.put(row)
      return refresh(row)
    },
    find: (runId) => index.find(runId),
    list: (filter, page) => index.list(filter, page),
    refresh,
    async recover() {
      const { rows } = await index.list({ status: unended }, { limit: recoverRows })
      let ended = 0
      for (const row of rows) {
        const about = { directory: row.directory, runId: row.run_id }
        try {
          const { isCrashed } = await lookAtRun(row.directory)
          if (isCrashed) {
            await recover(about)
            ended += 1
          }
          await refresh(row)
        } catch (error) {
          onFault(error, row.run_id)
        }
      }
      return ended
    },
    get running() {
      return working.size
    },
    async stop() {
      isStopping = true
      const all = [...working.values()]
      for (const { cancel } of all) cancel.abort()
      await Promise.allSettled(all.map(({ finished }) => finished))
    },
  }
}

/** What the caller can mend is told in the run's record, or in the answer. */
const isRefusal = (error: unknown): boolean => isGloveboxError(error) && error.kind.http < 500

const full = (most: number): GloveboxError =>
  new GloveboxError('TOO_MANY_REQUESTS', `Cannot create the run now: ${most} runs are at work`, {
    hint: 'Wait as long as Retry-After says.',
    facts: { retryAfterSeconds: 5 },
  })

const taken = (runId: string): GloveboxError =>
  new GloveboxError('ALREADY_EXISTS', `Cannot create the run ${runId}: the id is taken`, {
    hint: 'Leave run_id out, and one is made.',
  })
