// One exec at work here, from its claim to its end; and what becomes of it when other servers believed us dead meanwhile.
import { performance } from 'node:perf_hooks'
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import type { Stopped } from './ending.ts'

export interface Task {
  /** With the fence that is ours. */
  row: ExecRow
  /** On our clock, which may have begun later. */
  readonly begunMs: number
  /** It ran before it came to us. */
  readonly goesOn: boolean
  /** On the same clock. What is taken away behind the end of the command is no part of it. */
  endedMs?: number
  /** Who changes the row waits for the one before, since the fence may change with it. */
  turn: Promise<unknown>
  /** Its end is being written down. */
  isEnding: boolean
  isAbandoned: boolean
  /** Of a command that goes on without us. */
  boundaryId?: string
  readonly stopping: AbortController
  /** Another server follows it. */
  readonly lettingGo: AbortController
  stopped: Stopped | undefined
  done: Promise<void>
  /** What is kept of it until its end is written down. */
  forget?: (() => Promise<void>) | undefined
}

/** `ranMs`: for so long, before it came to us. */
export const newTask = (row: ExecRow, ranMs: number | undefined): Task => ({
  row,
  begunMs: performance.now() - (ranMs ?? 0),
  goesOn: ranMs !== undefined,
  turn: Promise.resolve(),
  isEnding: false,
  isAbandoned: false,
  stopping: new AbortController(),
  lettingGo: new AbortController(),
  stopped: undefined,
  done: Promise.resolve(),
})

export async function inTurn<Value>(task: Task, act: () => Promise<Value>): Promise<Value> {
  const mine = task.turn.then(act)
  task.turn = mine.catch(() => {})
  return mine
}

/** As the exec is now: what goes on under the same name is another server's to follow and to end. Whatever else runs here is ended. */
export function abandon(task: Task, now?: ExecRow): void {
  task.isAbandoned = true
  const isFollowed = now !== undefined && !hasEnded(now.status) && now.boundary_id === task.boundaryId
  if (isFollowed) task.lettingGo.abort()
  else task.stopping.abort()
}

export async function renameTask(store: Store, task: Task, names: { from: string; to: string }): Promise<void> {
  // One whose end is being written has its row as long as nobody has taken it.
  if (task.row.owner !== names.from || task.isEnding || task.isAbandoned) return
  const { exec_id } = task.row
  // The answer to an earlier time may have been lost on its way.
  const row = (await store.execs.takeOver(exec_id, names)) ?? (await store.execs.find(exec_id))
  if (row?.owner === names.to && !hasEnded(row.status)) task.row = row
  else abandon(task, row)
}
