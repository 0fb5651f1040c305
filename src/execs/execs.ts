// Execs of the API: one command each, in a sandbox that shows three directories of its project, with a record. It promises that an
// exec that was answered is never forgotten, that its end is the true one or LOST, that what the server writes is out of the
// guest's reach, and that no value of an environment is in any record. Files are the truth, and the store is their index.
// It must not know how a sandbox is made, nor who asks, nor over what.
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecArtifacts, ExecRecord } from '../contract/exec-record.ts'
import { type ExecFilter, type ExecPageRequest, type ExecRow, type Page, type Store } from '../contract/store.ts'
import { forget, writeFirstRecord } from './accepted.ts'
import { listArtifacts, openArtifact, type ArtifactOwner, type OpenedArtifact } from './artifacts.ts'
import type { Boundaries } from './boundaries.ts'
import { openCancelling } from './cancel.ts'
import type { Cursor } from './cursor.ts'
import { openDoor } from './door.ts'
import { openDoubts } from './doubts.ts'
import { noExecFailpoint, type ExecFailpoint } from './failpoints.ts'
import type { Finished } from './finish.ts'
import { openInputQuota, type InputLimits } from './input-quota.ts'
import type { Guest } from './layout.ts'
import { keepOwn } from './outlived.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { openOwners } from './owners.ts'
import { openQueue } from './queue.ts'
import { recordOf } from './record.ts'
import { recoverOwned, sweepBoundaries, type RecoverParts } from './recover.ts'
import { openReserve } from './reserve.ts'
import { openRoom, type RoomLimits } from './room.ts'
import type { StandIn } from './stand-ins.ts'
import { openStrays } from './strays.ts'
import { refuseBeyond, streamExec, type StreamedEvent } from './stream.ts'
import { openSubmit, type Asked, type Submitted } from './submit.ts'
import { sweepUnaccepted } from './sweep.ts'
import { openUnrecorded } from './unrecorded.ts'
import { endUnrunnable } from './unrunnable.ts'
import { openWaiting, type Wait } from './waiting.ts'
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
  readonly limits?: Partial<ExecLimits>
  readonly beatMs?: number
  readonly graceMs?: number
  readonly now?: () => Date
  readonly failpoint?: ExecFailpoint
  /** For what went wrong where nobody waits for an answer. */
  readonly log?: (about: string, error: unknown) => void
}

export interface Execs {
  readonly limits: ExecLimits
  /** At work here, whoever began them. */
  readonly running: number
  submit(asked: Asked): Promise<Submitted>
  readonly wait: Wait
  find(execId: string): Promise<ExecRow | undefined>
  list(filter: ExecFilter, page: ExecPageRequest): Promise<Page<ExecRow>>
  countQueued(): Promise<number>
  /** Law: cancelling an exec that has ended changes nothing. */
  cancel(execId: string): Promise<ExecRow | undefined>
  /** INVALID_CURSOR for an id that the stream of this exec cannot have given. */
  refuseBeyond(row: ExecRow, from: Cursor): void
  stream(execId: string, from: Cursor, signal: AbortSignal): AsyncIterable<StreamedEvent>
  artifacts(row: ExecRow): Promise<ExecArtifacts>
  openArtifact(row: ExecRow, path: string, by?: ArtifactOwner): Promise<OpenedArtifact>
  record(row: ExecRow): ExecRecord
  /** Nothing more is taken or begun. */
  hold(): void
  /** Holds; what runs has so long to end, and is then ended. */
  drain(graceMs: number): Promise<void>
  /** What cannot be written at once when it ends is left to the next server. */
  hurry(): void
  close(): Promise<void>
}

export type ExecLimits = RoomLimits & InputLimits

export const defaultLimits: ExecLimits = {
  maxConcurrent: 4,
  maxQueued: 256,
  maxQueuedPerProject: 64,
  maxInputBytes: 1024 * 1024 * 1024,
  maxInputFiles: 20_000,
}

const lookAgainMs = 1000
const sweepMs = 60_000
/** Directories are many, and seldom left: a minute after the start, and each hour. */
const sweepsPerLook = 60
const straysMs = 5000

export async function openExecs(options: ExecsOptions): Promise<Execs> {
  const { store, root, boundaries, now = () => new Date(), log = () => {} } = options
  const limits = { ...defaultLimits, ...options.limits }
  const watchers = openWatchers()
  const unrecorded = openUnrecorded()
  const door = openDoor()
  const hurrying = new AbortController()
  const { standIns = [], failpoint = noExecFailpoint } = options
  const files = {
    root,
    store,
    now,
    log,
    standIns,
    failpoint,
    reserve: openReserve(root),
    knownEnds: new Map<string, Finished>(),
    redaction: boundaries.redaction,
    hurried: hurrying.signal,
  }
  let isStopping = false

  const onChange = (execId: string): void => watchers.changed(execId, 'state')
  const onGrown = (execId: string): void => watchers.changed(execId, 'output')
  // What a dead server left may be at work, and leave, before there is a queue.
  let onRoom = (): void => {}
  const take = (execId: string) => unrecorded.take(execId)
  const work = openWork({ ...files, boundaries, take, onChange, onGrown, onLeft: () => onRoom() })
  const inHand = new Set<string>()
  const recovering = (self: string): RecoverParts => ({
    ...files,
    self,
    boundaries,
    work,
    onChange,
    inHand,
    isKept: (execId) => unrecorded.has(execId),
    // What cannot be written is tried again among the strays, and others come first.
    mostTries: 1,
  })
  const recover = (owner: string, self: string): Promise<boolean> => recoverOwned(recovering(self), owner)
  const outlived = (former: string, self: string): Promise<void> => keepOwn({ store, work }, former, self)
  const ownerOptions = { store, log, now, onOutlived: outlived, beatMs: options.beatMs, graceMs: options.graceMs }
  const owners = await openOwners({ ...present(ownerOptions), onDead: recover })

  const room = openRoom(store, limits, { owner: () => owners.self, count: () => work.ids.length })
  const queue = openQueue({
    hasRoom: () => work.ids.length < limits.maxConcurrent,
    claim: () => store.execs.claimNext({ owner: owners.self, started_at: now().toISOString() }),
    run(row) {
      const begun = performance.now()
      void work.run(row).then(() => room.tookMs(performance.now() - begun))
    },
    onFault: (error) => log('the queue could not be read', error),
  })
  onRoom = () => queue.kick()
  const doubts = openDoubts({
    ...files,
    async onThere(row) {
      await writeFirstRecord(root, row, { sync: true })
      queue.kick()
    },
    onVoid: (row) => forget({ root, take }, row),
  })
  const submit = openSubmit({
    ...files,
    boundaries,
    doubts,
    inputQuota: openInputQuota(root, limits),
    making: { guest: options.guest, standIns },
    ...unrecorded,
    ...room,
    get self() {
      return owners.self
    },
  })
  const cancelling = openCancelling({
    ...files,
    work,
    take,
    onChange,
    get self() {
      return owners.self
    },
  })
  const stopping = setInterval(() => void stopAskedFor().catch((error: unknown) => log('cancel', error)), lookAgainMs)
  stopping.unref()
  const endStrays = openStrays({
    ...recovering(owners.self),
    get self() {
      return owners.self
    },
  })
  const lookForStrays = oneAtATime(
    () => endStrays().finally(() => queue.kick()),
    (error) => log('own execs could not be looked at', error),
  )
  const strays = setInterval(() => void lookForStrays(), straysMs)
  strays.unref()
  let sweeps = 0
  const sweep = async (): Promise<void> => {
    await unrecorded.letGoOfEnded((execId) => store.execs.find(execId))
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

  sweepQuietly()
  queue.kick()

  const wait = openWaiting({ store, watchers, isStopping: () => isStopping })
  const stopWaiting = (): void => {
    isStopping = true
    watchers.wakeAll()
  }

  return {
    limits,
    get running() {
      return work.ids.length
    },
    async submit(asked) {
      const submitted = await door.pass(() => submit(asked))
      queue.kick()
      return submitted
    },
    wait,
    find: (execId) => store.execs.find(execId),
    list: (filter, page) => store.execs.list(filter, page),
    countQueued: () => store.execs.count({ status: ['QUEUED'] }),
    cancel: (execId) => cancelling.cancel(execId),
    refuseBeyond: (row, from) => refuseBeyond(root, row, from),
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
    hold() {
      door.shut()
      void queue.stop()
    },
    async drain(graceMs) {
      door.shut()
      await queue.stop()
      const running = Promise.all(work.ids.map((id) => work.ended(id)))
      await Promise.race([running, delay(graceMs, undefined, { ref: false })])
      for (const id of work.ids) work.stop(id, 'drained')
      await running
      try {
        await door.emptied()
        await endUnrunnable({ ...files, cancelling, self: owners.self })
      } finally {
        stopWaiting()
      }
    },
    hurry: () => hurrying.abort(),
    async close() {
      doubts.close()
      clearInterval(stopping)
      clearInterval(sweeping)
      clearInterval(strays)
      await queue.stop()
      for (const id of work.ids) work.stop(id, 'drained')
      await Promise.all([...work.ids.map((id) => work.ended(id)), cancelling.settled(), door.emptied()])
      stopWaiting()
      await owners.close()
    },
  }
}

/** An option that was given as undefined was not given. */
const present = <Value extends object>(value: Value): { [Key in keyof Value]: Exclude<Value[Key], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [Key in keyof Value]: Exclude<Value[Key], undefined>
  }
