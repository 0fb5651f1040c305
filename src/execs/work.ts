// The execs that are at work here, each from its claim to its end.
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Ended } from '../contract/exec.ts'
import type { PolicyValues } from '../contract/policy.ts'
import type { PolicySnapshot } from '../contract/exec-record.ts'
import { hasEnded, type ExecChange, type ExecRow } from '../contract/store.ts'
import type { SecretUse } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'
import { watchLimit } from './artifact-limit.ts'
import type { Boundaries, FoundAgain, Prepared } from './boundaries.ts'
import { argvOf } from './command.ts'
import { endingOf, EnvironmentLost, failureOf, type Ending, type Stopped } from './ending.ts'
import { finishExec, type FinishParts } from './finish.ts'
import { filesPlace, guestWork, mountsOf, remakeExecPlace } from './layout.ts'
import { openOutputs, type Outputs } from './outputs.ts'
import { patiently } from './patience.ts'
import { placeInputs } from './place-inputs.ts'
import { overridesFrom, toPolicyValues, toSnapshot } from './policy-words.ts'
import { writeMeta } from './record.ts'
import { beginning, markStarting } from './starting.ts'
import { abandon, inTurn, newTask, renameTask, type Task } from './task.ts'
import { needsUnrecorded } from './unrecorded.ts'

/** What only the server that took the request knows: it is in no record. */
export interface Unrecorded {
  readonly env: Readonly<Record<string, string>>
  readonly secrets: readonly SecretUse[]
  readonly values: PolicyValues
}

export interface WorkParts extends FinishParts {
  readonly boundaries: Boundaries
  /** Of execs that this server took; forgotten when asked for. */
  take(execId: string): Unrecorded | undefined
  readonly onChange: (execId: string) => void
  /** There is more output in the files. */
  readonly onGrown: (execId: string) => void
  /** There is one less at work. */
  readonly onLeft: () => void
}

export interface Work {
  /** Those that were found again too. */
  readonly ids: readonly string[]
  /** An exec that this server has claimed. Never rejects. */
  run(row: ExecRow): Promise<void>
  /** One whose command went on while its server was dead. */
  follow(row: ExecRow, found: FoundAgain): Promise<void>
  /** False if it is not at work here. */
  stop(execId: string, why: Stopped): boolean
  /** Settles when it has ended; at once if it is not at work here. */
  ended(execId: string): Promise<void>
  /** We go on under another name. What somebody else was given meanwhile is ended here, and nothing of it is written. */
  rename(from: string, to: string): Promise<void>
}

/** For an answer to be on its way. */
const answerMs = 10

type Doing = (task: Task, outputs: Outputs) => Promise<Ended>

export function openWork(parts: WorkParts): Work {
  const tasks = new Map<string, Task>()

  const stop = (execId: string, why: Stopped): boolean => {
    const task = tasks.get(execId)
    if (task === undefined) return false
    task.stopped ??= why
    task.stopping.abort()
    return true
  }

  const carryOut = async (row: ExecRow, task: Task, perform: Doing): Promise<void> => {
    const policy = snapshotOf(row)
    const onOver = (): void => void stop(row.exec_id, 'artifacts_limit_exceeded')
    const watch = watchLimit(filesPlace(parts.root, row), policy.max_artifacts_bytes_total, onOver)
    let outputs: Outputs | undefined
    let ending: Ending
    try {
      if (task.goesOn) remakeExecPlace(parts.root, row)
      outputs = await openOutputs({
        root: parts.root,
        row,
        goesOn: task.goesOn,
        onGrown: () => parts.onGrown(row.exec_id),
        log: parts.log,
      })
      ending = endingOf(await perform(task, outputs), task.stopped)
    } catch (error) {
      // It has not ended because we have no descriptor or no disk for it now, and is found again among the strays.
      if (task.goesOn && outputs === undefined)
        return parts.log(`${row.exec_id} goes on, and cannot be followed now`, error)
      ending = failureOf(error, task.stopped)
      if (isOurFault(ending)) parts.log(`${row.exec_id} could not be run`, error)
    } finally {
      await watch.stop()
      outputs?.close()
    }
    await inTurn(task, async () => void (task.isEnding = true))
    if (task.isAbandoned) return
    parts.failpoint('exec.end.beforeRecord')
    const nowMs = performance.now()
    const { begunMs, endedMs = nowMs } = task
    const written = await finishExec(parts, task.row, {
      ...ending,
      ended_at: new Date(parts.now().getTime() - (nowMs - endedMs)).toISOString(),
      duration_ms: Math.round(endedMs - begunMs),
      stdout_truncated: outputs?.stdout.truncated === true,
      stderr_truncated: outputs?.stderr.truncated === true,
    })
    // Where another server was given the exec, it needs what is left.
    if (written?.fence !== task.row.fence) return
    parts.onChange(row.exec_id)
    if (task.forget === undefined) return
    // Whoever waits for the end hears of it first: to take away what is left starts programs, which holds up this thread.
    await delay(answerMs)
    await task.forget().catch((error: unknown) => left(parts, row, error))
  }

  const begin = (row: ExecRow, perform: Doing, ranMs?: number): Promise<void> => {
    const before = tasks.get(row.exec_id)
    if (before === undefined) return start(row, perform, ranMs)
    // It was taken from us, and comes to us again: two would write into the same files.
    abandon(before, row)
    return before.done.then(() => start(row, perform, ranMs))
  }
  const start = (row: ExecRow, perform: Doing, ranMs: number | undefined): Promise<void> => {
    const task = newTask(row, ranMs)
    tasks.set(row.exec_id, task)
    task.done = carryOut(row, task, perform)
      .catch((error: unknown) => parts.log(`the end of ${row.exec_id} could not be written`, error))
      .finally(() => {
        tasks.delete(row.exec_id)
        parts.onChange(row.exec_id)
        parts.onLeft()
      })
    return task.done
  }

  return {
    get ids() {
      return [...tasks.keys()]
    },
    run: (row) =>
      begin(row, async (task, outputs) => {
        parts.onChange(row.exec_id)
        return runCommand(parts, row, task, outputs)
      }),
    follow(row, found) {
      const goOn: Doing = async (task, outputs) => {
        try {
          const from = { stdout: outputs.stdout.totalBytes, stderr: outputs.stderr.totalBytes }
          task.forget = () => found.forget()
          if (row.boundary_id !== null) task.boundaryId = row.boundary_id
          const ended = await found.run({ ...following(task, outputs), from })
          task.endedMs = performance.now() - found.endedAgoMs()
          return ended
        } finally {
          await found.close().catch((error: unknown) => left(parts, row, error))
        }
      }
      return begin(row, goOn, found.elapsedMs())
    },
    stop,
    ended: (execId) => tasks.get(execId)?.done ?? Promise.resolve(),
    async rename(from, to) {
      await Promise.all(
        [...tasks.values()].map((task) => inTurn(task, () => renameTask(parts.store, task, { from, to }))),
      )
    },
  }
}

async function runCommand(parts: WorkParts, row: ExecRow, task: Task, outputs: Outputs): Promise<Ended> {
  const { boundaries, store, root } = parts
  await placeInputs(root, row)
  const unrecorded = parts.take(row.exec_id) ?? recorded(row, boundaries)
  const prepared = await boundaries.prepare({
    execId: row.exec_id,
    mounts: mountsOf(root, row),
    image: row.image,
    argv: argvOf(row),
    cwd: row.cwd ?? guestWork,
    ...unrecorded,
  })
  if (prepared.forget !== undefined) {
    task.forget = async () => prepared.forget?.()
    task.boundaryId = prepared.boundaryId
  }
  try {
    parts.failpoint('exec.start.beforeName')
    markStarting(root, row, prepared.boundaryId)
    // Before anything is made, and synced: whoever finds no boundary's name here knows that nothing has run, also behind a power cut or
    // the end of the database.
    const change = begunWith(row, boundaries.backend, prepared)
    // Nothing has run yet, and said twice it is the same.
    const update = () => store.execs.update(row.exec_id, task.row.fence, change)
    const isOurs = await patiently(() => inTurn(task, update), parts.hurried)
    if (!isOurs) {
      abandon(task)
      throw givenAway()
    }
    await writeMeta(root, { ...row, ...change }, { sync: false })
    if (await isCancelled(parts, task)) task.stopping.abort()
    parts.failpoint('exec.start.beforeCreate')
    const onBeginning = (): void => {
      if (beginning(root, row, prepared.boundaryId)) return
      abandon(task)
      throw givenAway()
    }
    return await prepared.run({ ...following(task, outputs), onBeginning })
  } finally {
    task.endedMs = performance.now()
    await prepared.close().catch((error: unknown) => left(parts, row, error))
  }
}

/** What is known only now, by the server that begins it: it may have other settings than the one that took the request. */
function begunWith(row: ExecRow, backend: string, { boundaryId, image, policy }: Prepared): ExecChange {
  const policy_snapshot = toSnapshot(policy)
  return {
    backend,
    boundary_id: boundaryId,
    image: image?.name ?? null,
    image_id: image?.id ?? null,
    ...(isDeepStrictEqual(policy_snapshot, row.policy_snapshot) ? {} : { policy_snapshot }),
  }
}

/** How the command ended is known by then, and is not for what could not be taken away to say. */
const left = ({ log }: WorkParts, { exec_id }: ExecRow, error: unknown): void =>
  log(`something of ${exec_id} is left`, error)

const isOurFault = ({ error_reason }: Ending): boolean =>
  ['internal', 'boundary_failed', 'backend_unavailable', 'store_unavailable'].includes(error_reason ?? '')

const givenAway = (): GloveboxError =>
  new GloveboxError('CANCELLED', 'Cannot run the command: another server was given the exec')

/** Somebody may have asked for it between the claim and now; or the exec was given away, while the database could not be asked. */
async function isCancelled({ store, hurried }: WorkParts, task: Task): Promise<boolean> {
  return inTurn(task, async () => {
    const current = await patiently(() => store.execs.find(task.row.exec_id), hurried)
    if (current?.fence !== task.row.fence) abandon(task)
    return task.isAbandoned || current === undefined || hasEnded(current.status) || current.cancel_requested_at !== null
  })
}

/** For an exec whose request went to another server, which let it go because it needs nothing of what is in no record. */
function recorded(row: ExecRow, boundaries: Boundaries): Unrecorded {
  if (needsUnrecorded(row)) throw new EnvironmentLost()
  const asked = overridesFrom(snapshotOf(row), toSnapshot(boundaries.resolve({}).effective))
  return { env: {}, secrets: [], values: { ...toPolicyValues(asked), secrets: [] } }
}

const snapshotOf = (row: ExecRow): PolicySnapshot => row.policy_snapshot as PolicySnapshot

const following = ({ stopping, lettingGo }: Task, { stdout, stderr }: Outputs) => ({
  onStdout: (chunk: Uint8Array) => stdout.add(chunk),
  onStderr: (chunk: Uint8Array) => stderr.add(chunk),
  signal: stopping.signal,
  letGo: lettingGo.signal,
})
