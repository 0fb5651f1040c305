// The execs that are at work here, each from its claim to its end.
import { performance } from 'node:perf_hooks'
import type { Ended } from '../contract/exec.ts'
import type { PolicyValues } from '../contract/policy.ts'
import type { PolicySnapshot } from '../contract/exec-record.ts'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import type { SecretUse } from '../contract/vault.ts'
import { watchLimit } from './artifact-limit.ts'
import type { Boundaries, FoundAgain } from './boundaries.ts'
import { argvOf } from './command.ts'
import { endingOf, failureOf, type Ending, type Stopped } from './ending.ts'
import { finishExec, type FinishParts } from './finish.ts'
import { filesPlace, guestWork, mountsOf, recordPlace } from './layout.ts'
import { openOutput } from './output-file.ts'
import { patiently } from './patience.ts'
import { overridesFrom, toPolicyValues, toSnapshot } from './policy-words.ts'
import { writeMeta } from './record.ts'

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
}

export interface Work {
  readonly ids: readonly string[]
  /** An exec that this server has claimed. Never rejects. */
  run(row: ExecRow): Promise<void>
  /** One whose command went on while its server was dead. */
  follow(row: ExecRow, found: FoundAgain): Promise<void>
  /** False if it is not at work here. */
  stop(execId: string, why: Stopped): boolean
  /** Settles when it has ended; at once if it is not at work here. */
  ended(execId: string): Promise<void>
  /** Somebody else was given our execs: they are ended here and nothing is written. */
  abandon(): void
}

interface Task {
  readonly stopping: AbortController
  stopped: Stopped | undefined
  done: Promise<void>
  /** What is kept of it until its end is written down. */
  forget?: (() => Promise<void>) | undefined
}

type Doing = (task: Task, outputs: Outputs) => Promise<Ended>

export function openWork(parts: WorkParts): Work {
  const tasks = new Map<string, Task>()
  let isAbandoned = false

  const stop = (execId: string, why: Stopped): boolean => {
    const task = tasks.get(execId)
    if (task === undefined) return false
    task.stopped ??= why
    task.stopping.abort()
    return true
  }

  const carryOut = async (row: ExecRow, task: Task, perform: Doing): Promise<void> => {
    const begun = performance.now()
    const policy = snapshotOf(row)
    const onOver = (): void => void stop(row.exec_id, 'artifacts_limit_exceeded')
    const watch = watchLimit(filesPlace(parts.root, row), policy.max_artifacts_bytes_total, onOver)
    let outputs: Outputs | undefined
    let ending: Ending
    try {
      outputs = openOutputs(parts, row)
      ending = endingOf(await perform(task, outputs), task.stopped)
    } catch (error) {
      ending = failureOf(error, task.stopped)
      if (isOurFault(ending)) parts.log(`${row.exec_id} could not be run`, error)
    } finally {
      await watch.stop()
      outputs?.close()
    }
    if (isAbandoned) return
    const written = await finishExec(parts, row, {
      ...ending,
      duration_ms: Math.round(performance.now() - begun),
      stdout_truncated: outputs?.stdout.truncated === true,
      stderr_truncated: outputs?.stderr.truncated === true,
    })
    // Where another server was given the exec, it needs what is left.
    if (written?.fence !== row.fence) return
    parts.onChange(row.exec_id)
    await task.forget?.().catch((error: unknown) => parts.log(`something of ${row.exec_id} is left`, error))
  }

  const begin = (row: ExecRow, perform: Doing): Promise<void> => {
    const task: Task = { stopping: new AbortController(), stopped: undefined, done: Promise.resolve() }
    tasks.set(row.exec_id, task)
    task.done = carryOut(row, task, perform)
      .catch((error: unknown) => parts.log(`the end of ${row.exec_id} could not be written`, error))
      .finally(() => {
        tasks.delete(row.exec_id)
        parts.onChange(row.exec_id)
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
    follow: (row, found) =>
      begin(row, async (task, outputs) => {
        try {
          const from = { stdout: outputs.stdout.totalBytes, stderr: outputs.stderr.totalBytes }
          task.forget = () => found.forget()
          return await found.run({ ...following(task, outputs), from })
        } finally {
          await found.close()
        }
      }),
    stop,
    ended: (execId) => tasks.get(execId)?.done ?? Promise.resolve(),
    abandon() {
      isAbandoned = true
      for (const { stopping } of tasks.values()) stopping.abort()
    },
  }
}

async function runCommand(parts: WorkParts, row: ExecRow, task: Task, outputs: Outputs): Promise<Ended> {
  const { boundaries, store, root } = parts
  const unrecorded = parts.take(row.exec_id) ?? recorded(row, boundaries)
  const prepared = await boundaries.prepare({
    execId: row.exec_id,
    mounts: mountsOf(root, row),
    image: row.image,
    argv: argvOf(row),
    cwd: row.cwd ?? guestWork,
    ...unrecorded,
  })
  task.forget = () => prepared.forget?.() ?? Promise.resolve()
  try {
    // Before anything is made: whoever finds no boundary's name here knows that nothing has run.
    const change = { backend: boundaries.backend, boundary_id: prepared.boundaryId }
    // Nothing has run yet, and said twice it is the same.
    const isOurs = await patiently(() => store.execs.update(row.exec_id, row.fence, change, { durability: 'written' }))
    if (!isOurs) task.stopping.abort()
    await writeMeta(root, { ...row, ...change }, { sync: false })
    if (await isCancelled(parts, row)) task.stopping.abort()
    return await prepared.run(following(task, outputs))
  } finally {
    await prepared.close()
  }
}

const isOurFault = ({ error_reason }: Ending): boolean =>
  ['internal', 'boundary_failed', 'backend_unavailable', 'store_unavailable'].includes(error_reason ?? '')

/** Somebody may have asked for it between the claim and now. */
async function isCancelled({ store }: WorkParts, row: ExecRow): Promise<boolean> {
  const current = await patiently(() => store.execs.find(row.exec_id))
  return current === undefined || hasEnded(current.status) || current.cancel_requested_at !== null
}

/** For an exec whose request went to another server. It has no environment: such a one never leaves the server that took it. */
const recorded = (row: ExecRow, boundaries: Boundaries): Unrecorded => ({
  env: {},
  secrets: [],
  values: {
    ...toPolicyValues(overridesFrom(snapshotOf(row), toSnapshot(boundaries.resolve({}).effective))),
    secrets: [],
  },
})

const snapshotOf = (row: ExecRow): PolicySnapshot => row.policy_snapshot as PolicySnapshot

interface Outputs {
  readonly stdout: ReturnType<typeof openOutput>
  readonly stderr: ReturnType<typeof openOutput>
  close(): void
}

function openOutputs({ root, onGrown: tell }: WorkParts, row: ExecRow): Outputs {
  const policy = snapshotOf(row)
  const onGrown = (): void => tell(row.exec_id)
  const stdout = openOutput(recordPlace(root, row, 'stdout.txt'), { limitBytes: policy.max_stdout_bytes, onGrown })
  const stderr = openOutput(recordPlace(root, row, 'stderr.txt'), { limitBytes: policy.max_stderr_bytes, onGrown })
  return {
    stdout,
    stderr,
    close() {
      stdout.close()
      stderr.close()
    },
  }
}

const following = ({ stopping }: Task, { stdout, stderr }: Outputs) => ({
  onStdout: (chunk: Uint8Array) => stdout.add(chunk),
  onStderr: (chunk: Uint8Array) => stderr.add(chunk),
  signal: stopping.signal,
})
