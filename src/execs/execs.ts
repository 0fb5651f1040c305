// Execs of the API: one command each, in a sandbox that shows three directories of its project, with a record. It promises that an
// exec that was answered is never forgotten, that its end is the true one or LOST, that what the server writes is out of the
// guest's reach, and that no value of an environment is in any record. Files are the truth, and the store is their index.
// It must not know how a sandbox is made, nor who asks, nor over what.
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecArtifacts, ExecRecord } from '../contract/exec-record.ts'
import { hasEnded, type ExecFilter, type ExecRow, type Page, type PageRequest, type Store } from '../contract/store.ts'
import { listArtifacts, openArtifact, type ArtifactOwner, type OpenedArtifact } from './artifacts.ts'
import type { Boundaries } from './boundaries.ts'
import type { Cursor } from './cursor.ts'
import { finishExec, writeFiles } from './finish.ts'
import type { Guest } from './layout.ts'
import { openOwners } from './owners.ts'
import { openQueue } from './queue.ts'
import { recordOf } from './record.ts'
import { openStrays, ownersOfOpen, recoverOwned, sweepBoundaries, type RecoverParts } from './recover.ts'
import { openReserve } from './reserve.ts'
import { openRoom, type RoomLimits } from './room.ts'
import type { StandIn } from './stand-ins.ts'
import { streamExec, type StreamedEvent } from './stream.ts'
import { openSubmit, type Asked, type Submitted } from './submit.ts'
import { sweepUnaccepted } from './sweep.ts'
import { openUnrecorded } from './unrecorded.ts'
import { openWatchers } from './watchers.ts'
import { openWork } from './work.ts'

export interface ExecsOptions {
  readonly store: Store
  /** The workspace's root; `projects/` lies below it. */
  readonly root: string
  readonly boundaries: Boundaries
  /** To whom what a guest may write belongs. Absent: to the server's own user. */
  readonly guest?: Guest | undefined
  /** Names that no guest may make in its directories. */
  readonly standIns?: readonly StandIn[]
  readonly limits?: Partial<RoomLimits>
  readonly beatMs?: number
  readonly graceMs?: number
  readonly now?: () => Date
  /** For what went wrong where nobody waits for an answer. */
  readonly log?: (about: string, error: unknown) => void
}

export interface Execs {
  readonly limits: RoomLimits
  readonly running: number
  submit(asked: Asked): Promise<Submitted>
  /** The exec when it has ended; as it is, if the server stops before or the caller goes. */
  wait(execId: string, signal?: AbortSignal): Promise<ExecRow | undefined>
  find(execId: string): Promise<ExecRow | undefined>
  list(filter: ExecFilter, page: PageRequest): Promise<Page<ExecRow>>
  countQueued(): Promise<number>
  /** Law: cancelling an exec that has ended changes nothing. */
  cancel(execId: string): Promise<ExecRow | undefined>
  stream(execId: string, from: Cursor, signal: AbortSignal): AsyncIterable<StreamedEvent>
  artifacts(row: ExecRow): Promise<ExecArtifacts>
  openArtifact(row: ExecRow, path: string, by?: ArtifactOwner): OpenedArtifact
  record(row: ExecRow): ExecRecord
  /** Nothing more is begun. */
  hold(): void
  /** Holds; what runs has so long to end, and is then ended. */
  drain(graceMs: number): Promise<void>
  close(): Promise<void>
}

export const defaultLimits: RoomLimits = { maxConcurrent: 4, maxQueued: 256, maxQueuedPerProject: 64 }

const lookAgainMs = 1000
const cancelledWithinMs = 10_000
const sweepMs = 60_000
/** Directories are many, and seldom left: a minute after the start, and each hour. */
const sweepsPerLook = 60
const straysMs = 5000

export async function openExecs(options: ExecsOptions): Promise<Execs> {
  const { store, root, boundaries, now = () => new Date(), log = () => {} } = options
  const limits = { ...defaultLimits, ...options.limits }
  const watchers = openWatchers()
  const unrecorded = openUnrecorded()
  const room = openRoom(store, limits)
  const { standIns = [] } = options
  const files = { root, store, now, log, standIns, reserve: openReserve(root), redaction: boundaries.redaction }
  let isStopping = false

  const onChange = (execId: string): void => watchers.changed(execId, 'state')
  const onGrown = (execId: string): void => watchers.changed(execId, 'output')
  const work = openWork({ ...files, boundaries, take: (execId) => unrecorded.take(execId), onChange, onGrown })
  const outlived = (): void => {
    log('another server believed this one dead, and has its execs now', undefined)
    work.abandon()
  }
  const recovering = (self: string): RecoverParts => ({ ...files, self, boundaries, work, onChange })
  const recover = (owner: string, self: string): Promise<void> => recoverOwned(recovering(self), owner)
  const ownerOptions = { store, log, now, onOutlived: outlived, beatMs: options.beatMs, graceMs: options.graceMs }
  const owners = await openOwners({ ...present(ownerOptions), onDead: recover })

  const queue = openQueue({
    maxConcurrent: limits.maxConcurrent,
    claim: () => store.execs.claimNext({ owner: owners.self, started_at: now().toISOString() }),
    async run(row) {
      const begun = performance.now()
      await work.run(row)
      room.tookMs(performance.now() - begun)
    },
    onFault: (error) => log('the queue could not be read', error),
  })
  const submit = openSubmit({
    ...files,
    boundaries,
    making: { guest: options.guest, standIns },
    self: owners.self,
    ...unrecorded,
    ...room,
  })
  const cancelling = setInterval(() => void stopAskedFor().catch((error: unknown) => log('cancel', error)), lookAgainMs)
  cancelling.unref()
  const endStrays = openStrays(recovering(owners.self))
  const strays = setInterval(
    () =>
      void endStrays().then(
        () => queue.kick(),
        (error: unknown) => log('own execs could not be looked at', error),
      ),
    straysMs,
  )
  strays.unref()
  let sweeps = 0
  const sweep = async (): Promise<void> => {
    await sweepBoundaries(store, boundaries)
    if (sweeps++ % sweepsPerLook === 1) await sweepUnaccepted(files)
  }
  const sweepQuietly = (): void => void sweep().catch((error: unknown) => log('what is left could not be swept', error))
  const sweeping = setInterval(sweepQuietly, sweepMs)
  sweeping.unref()

  /** Others ask by the store. */
  const stopAskedFor = async (): Promise<void> => {
    if (work.ids.length === 0) return
    const filter = { owner: owners.self, status: ['RUNNING'] as const, cancel_requested: true as const }
    for (const { exec_id } of (await store.execs.list(filter, { limit: 1000 })).rows) work.stop(exec_id, 'cancelled')
  }

  const recoverUnlisted = async (): Promise<void> => {
    for (const owner of await ownersOfOpen(store)) if (!owners.isAlive(owner)) await recover(owner, owners.self)
  }
  await recoverUnlisted()
  sweepQuietly()
  queue.kick()

  const wait = async (execId: string, signal?: AbortSignal): Promise<ExecRow | undefined> => {
    const watch = watchers.watch(execId, 'state')
    try {
      for (;;) {
        const row = await store.execs.find(execId)
        if (row === undefined || hasEnded(row.status) || isStopping || signal?.aborted === true) return row
        await watch.next(lookAgainMs, signal)
      }
    } finally {
      watch.close()
    }
  }

  return {
    limits,
    get running() {
      return queue.running
    },
    async submit(asked) {
      const submitted = await submit(asked)
      queue.kick()
      return submitted
    },
    wait,
    find: (execId) => store.execs.find(execId),
    list: (filter, page) => store.execs.list(filter, page),
    countQueued: () => store.execs.count({ status: ['QUEUED'] }),
    async cancel(execId) {
      const before = await store.execs.find(execId)
      if (before === undefined || hasEnded(before.status)) return before
      const row = await store.execs.requestCancel(execId, now().toISOString())
      if (row === undefined) return undefined
      if (before.status === 'QUEUED' && row.status === 'CANCELLED') {
        unrecorded.take(execId)
        await writeFiles(files, row, false)
        onChange(execId)
        return row
      }
      if (hasEnded(row.status)) return row
      work.stop(execId, 'cancelled')
      await Promise.race([work.ended(execId), delay(cancelledWithinMs, undefined, { ref: false })])
      return store.execs.find(execId)
    },
    async *stream(execId, from, signal) {
      const watch = watchers.watch(execId, 'output')
      const states = watchers.watch(execId, 'state')
      let known: { readonly row: ExecRow | undefined; readonly at: number } | undefined
      // Every piece of output wakes the stream, and the store has no news with it.
      const find = async (): Promise<ExecRow | undefined> => {
        if (known !== undefined && !states.isNews && performance.now() - known.at < lookAgainMs) return known.row
        await states.next(0)
        known = { row: await store.execs.find(execId), at: performance.now() }
        return known.row
      }
      try {
        yield* streamExec({ root, find, watch, signal, isStopping: () => isStopping }, from)
      } finally {
        watch.close()
        states.close()
      }
    },
    artifacts: (row) => listArtifacts(root, row, new Set(standIns.map(({ name }) => name))),
    openArtifact: (row, path, by) => openArtifact(root, row, path, by),
    record: recordOf,
    hold: () => void queue.stop(),
    async drain(graceMs) {
      await queue.stop()
      const running = Promise.all(work.ids.map((id) => work.ended(id)))
      await Promise.race([running, delay(graceMs, undefined, { ref: false })])
      for (const id of work.ids) work.stop(id, 'drained')
      await running
      await endUnrunnable()
      isStopping = true
      watchers.wakeAll()
    },
    async close() {
      clearInterval(cancelling)
      clearInterval(sweeping)
      clearInterval(strays)
      await queue.stop()
      for (const id of work.ids) work.stop(id, 'drained')
      await Promise.all(work.ids.map((id) => work.ended(id)))
      isStopping = true
      watchers.wakeAll()
      await owners.close()
    },
  }

  /** The environment of what is still in the queue ends with this process. What has none waits for the next server. */
  async function endUnrunnable(): Promise<void> {
    const { rows } = await store.execs.list({ owner: owners.self, status: ['QUEUED'] }, { limit: 1000 })
    for (const row of rows) {
      await finishExec(files, row, {
        status: 'CANCELLED',
        error_reason: 'drained',
        exit_code: null,
        duration_ms: null,
        stdout_truncated: false,
        stderr_truncated: false,
      })
    }
  }
}

/** An option that was given as undefined was not given. */
const present = <Value extends object>(value: Value): { [Key in keyof Value]: Exclude<Value[Key], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [Key in keyof Value]: Exclude<Value[Key], undefined>
  }
