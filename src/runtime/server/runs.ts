// Runs that are made through the server: each in a directory of its project, at work in this process, and findable through
// the index. The directory is the truth; the index is brought up to date as the run goes on, and again when a server starts
// and finds runs that nobody works on any more.
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunEvent } from '../../contract/event.ts'
import { isTerminal, needsOwner, newRunId, runStatuses, type RunStatus } from '../../contract/run.ts'
import type { Page, PageKey, PageRequest, RunFilter, RunRow, RunTable } from '../../contract/store.ts'
import { removeTree } from '../../paths/remove-tree.ts'
import type { Failpoint } from '../../runs/failpoints.ts'
import { findRunJson } from '../../runs/reader.ts'
import { lookAtRun } from '../runs/look.ts'
import type { RunRequest } from '../runs/request.ts'
import { recover } from '../runs/review.ts'
import { startRun } from '../runs/start.ts'
import { findBegun } from './begun-run.ts'
import type { Bound } from './idempotency.ts'
import { full, isRefusal, isTaken, taken, unlisted } from './run-refusals.ts'
import { composeServedRun, type ServedRunParts, type ServedRunRequest } from './run-request.ts'

export type { ServedRunRequest }

export interface RunHouse {
  /** Answers when the run is on disk; it goes on behind. */
  create(request: ServedRunRequest): Promise<RunRow>
  /** For a request under a key: the run that an earlier sending of it began, else a new one. Never a second one under its id. */
  createOnce(request: BoundRunRequest, binding: Binding): Promise<RunRow>
  find(runId: string): Promise<RunRow | undefined>
  list(filter: RunFilter, page: PageRequest): Promise<Page<RunRow>>
  /** What the files say now, also where the index cannot be told. */
  refresh(row: RunRow): Promise<RunRow>
  /** A run tells that nobody works on it a moment before it lets go of its directory: whoever decides on it then waits for that. */
  whenAtRest(row: RunRow): Promise<void>
  /** Ends runs of an earlier server that nobody works on. How many there were. */
  recover(): Promise<number>
  readonly running: number
  /** Cancels all of them, with the reason `drained`, and waits for their ends. */
  stop(): Promise<void>
}

export interface BoundRunRequest extends ServedRunRequest {
  readonly runId: string
}

export interface Binding extends Pick<Bound, 'isRepeated' | 'since'> {
  readonly isChosen?: boolean
}

export interface RunHouseOptions extends ServedRunParts {
  /** Runs lie below it by project. */
  readonly root: string
  readonly index: RunTable
  /** For runs at work. */
  readonly places: number
  readonly onFault: (error: unknown, runId: string) => void
  readonly failpoint?: Failpoint
}

interface AtWork {
  readonly tokenId: string
  readonly cancel: AbortController
  readonly finished: Promise<void>
}

/** Of a run among those at work, from before it begins. */
interface Place {
  readonly runId: string
  readonly cancel: AbortController
  readonly finished: Promise<void>
  /** Once it has begun. */
  row?: RunRow
  /** May be called twice. */
  readonly leave: () => void
}

const unended: readonly RunStatus[] = runStatuses.filter((status) => !isTerminal(status))
const recoverRows = 1000
const mostToRestMs = 10_000

export function openRunHouse(options: RunHouseOptions): RunHouse {
  const { root, index, onFault } = options
  const working = new Map<string, AtWork>()
  let isStopping = false
  const directoryOf = (project: string, runId: string): string => join(root, project, runId)

  const refresh = async (row: RunRow): Promise<RunRow> => {
    const fresh = upToDate(row)
    // The files have changed already, and stay as they are: whoever asks is told that, and the index when it is looked at again.
    if (fresh !== row)
      await index.put(fresh, { durability: 'written' }).catch((error: unknown) => onFault(error, row.run_id))
    return fresh
  }

  /** Settles at the first event, which is written when the directory is there; what follows is told by the run itself. */
  const begin = (request: RunRequest, place: Place): Promise<RunEvent> => {
    const { runId, cancel, leave } = place
    return new Promise((resolve, reject) => {
      const onEvent = (event: RunEvent): void => {
        if (event.type === 'run_created') resolve(event)
        if (event.type === 'state_changed' || event.type === 'run_ended') soon(place)
      }
      void startRun({ ...request, signal: cancel.signal, onEvent })
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
          leave()
          soon(place)
        })
    })
  }

  /**
   * With nothing awaited between the look and the taking, so that no more are at work than may be, however many ask at once. Nobody takes
   * a place away from a run, which may last for days. So a token leaves as many free as it has, and whoever comes next finds some.
   */
  const takePlace = (runId: string, tokenId: string): Place => {
    const free = options.places - working.size
    const own = [...working.values()].filter((each) => each.tokenId === tokenId).length
    if (own >= free) throw full(own, free)
    if (working.has(runId)) throw taken(runId)
    const cancel = new AbortController()
    let settle = (): void => {}
    const finished = new Promise<void>((resolve) => (settle = resolve))
    const mine: AtWork = { tokenId, cancel, finished }
    working.set(runId, mine)
    const leave = (): void => {
      if (working.get(runId) === mine) working.delete(runId)
      settle()
    }
    return { runId, cancel, finished, leave }
  }

  const soon = (place: Place): void => {
    const update = async (): Promise<void> => {
      const { row } = place
      let found = await index.find(place.runId)
      // The index did not take it when it began.
      if (found === undefined && row !== undefined && !(await index.insert(upToDate(row))))
        found = await index.find(place.runId)
      if (found === undefined) return
      if (row === undefined || isSameRun(found, row)) return void (await refresh(found))
      // Nobody would find it, or could end it.
      place.cancel.abort()
      throw taken(place.runId)
    }
    setImmediate(() => void update().catch((error: unknown) => onFault(error, place.runId)))
  }

  /** False: the id is another's by now. Our own run may have been entered by whoever was sent the same request on another server. */
  const isEntered = async (row: RunRow): Promise<boolean> => {
    if (await index.insert(row)) return true
    const found = await index.find(row.run_id)
    return found !== undefined && isSameRun(found, row)
  }

  /** Two servers look for an id before either has entered it; whoever comes second has begun for nothing, and nothing of that stays. */
  const takeBack = async (place: Place, directory: string): Promise<never> => {
    delete place.row
    place.cancel.abort()
    await place.finished
    await removeTree(directory)
    throw taken(place.runId)
  }

  const create = async (request: ServedRunRequest): Promise<RunRow> => {
    const place = takePlace(request.runId ?? newRunId(), request.tokenId)
    const { runId } = place
    const directory = directoryOf(request.project, runId)
    let created: RunEvent
    let executor: string
    try {
      if ((await index.find(runId)) !== undefined) throw taken(runId)
      const composed = await composeServedRun(request, options, { runId, directory, isDrained: () => isStopping })
      executor = composed.executor.name
      created = await begin(composed, place)
    } catch (error) {
      place.leave()
      throw error
    }
    const row: RunRow = {
      run_id: runId,
      session_id: created.session_id,
      task_id: created.task_id,
      project_id: request.project,
      directory,
      status: 'pending',
      executor,
      failure_reason: null,
      created_at: created.timestamp,
      updated_at: created.timestamp,
      state_seq: created.seq,
    }
    place.row = row
    options.failpoint?.('run.index.beforePut')
    const isOurs = await isEntered(row).catch((error: unknown) => {
      throw unlisted(runId, error)
    })
    return isOurs ? refresh(row) : takeBack(place, directory)
  }

  const begunBy = async (
    request: BoundRunRequest,
    { isChosen = false, since }: Binding,
  ): Promise<RunRow | undefined> => {
    const { project, runId } = request
    const row = await findBegun(index, { project, runId, directory: directoryOf(project, runId) })
    if (row === undefined) return undefined
    // An id that a caller chose can be another's: of a project that is not his, or from before he came.
    if (row.project_id !== project || (isChosen && row.created_at < since)) throw taken(runId)
    return refresh(row)
  }

  const endIfCrashed = async (row: RunRow): Promise<boolean> => {
    try {
      const { isCrashed } = await lookAtRun(row.directory)
      if (isCrashed) await recover({ directory: row.directory, runId: row.run_id })
      await refresh(row)
      return isCrashed
    } catch (error) {
      onFault(error, row.run_id)
      return false
    }
  }

  return {
    create,
    async createOnce(request, binding) {
      const begun = binding.isRepeated ? await begunBy(request, binding) : undefined
      if (begun !== undefined) return begun
      try {
        return await create(request)
      } catch (error) {
        if (!isTaken(error) || (binding.isChosen === true && !binding.isRepeated)) throw error
        // The same request, sent to another server, was quicker under the same id.
        const other = await begunBy(request, binding)
        if (other === undefined) throw error
        return other
      }
    },
    find: (runId) => index.find(runId),
    list: (filter, page) => index.list(filter, page),
    refresh,
    async whenAtRest(row) {
      const finished = working.get(row.run_id)?.finished
      if (finished === undefined || needsOwner(upToDate(row).status)) return
      await Promise.race([finished, delay(mostToRestMs, undefined, { ref: false })])
    },
    async recover() {
      let ended = 0
      for (let after: PageKey | null | undefined; after !== null;) {
        const { rows, next } = await index.list({ status: unended }, { limit: recoverRows, after })
        for (const row of rows) if (await endIfCrashed(row)) ended += 1
        after = next
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

/** Not by its directory, which another server may spell otherwise. */
const isSameRun = (one: RunRow, other: RunRow): boolean =>
  (['run_id', 'project_id', 'session_id', 'task_id', 'created_at'] as const).every((name) => one[name] === other[name])

/** The same row where the files say no more. */
function upToDate(row: RunRow): RunRow {
  const record = findRunJson(row.directory)
  if (record === undefined || record.state_seq <= row.state_seq) return row
  const { status, executor, failure_reason, updated_at, state_seq } = record
  return { ...row, status, executor, failure_reason, updated_at, state_seq }
}
