// The end of an exec, written down: what the guest left is bounded and listed, the files are synced, and then the row says what
// meta.json says. Each step may be done again by whoever finds it half done.
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Redaction } from '../contract/redaction.ts'
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { syncFile } from '../paths/content.ts'
import { isErrno } from '../paths/refusal.ts'
import { trimToLimit } from './artifact-limit.ts'
import { overLimit, type Ending } from './ending.ts'
import type { ExecFailpoint } from './failpoints.ts'
import { forgetEnd, noteEnd, type KnownEnd } from './known-end.ts'
import { execPlace, filesPlace, recordPlace, remakeExecPlace, type ExecName } from './layout.ts'
import { manifestText } from './manifest-file.ts'
import { makeManifest } from './manifest.ts'
import { openOutput } from './output-file.ts'
import { forgetCuts } from './outputs.ts'
import { pause } from './patience.ts'
import { forgetInputs } from './place-inputs.ts'
import { redactArtifacts } from './redact-artifacts.ts'
import type { Reserve } from './reserve.ts'
import { forgetStarting } from './starting.ts'
import { takeStandIns, type StandIn } from './stand-ins.ts'
import { isFull } from './storage-fault.ts'
import { readMeta, sweepTemporaries, writeMeta, writeRecord } from './record.ts'

export interface FinishParts {
  readonly root: string
  readonly store: Store
  readonly reserve: Reserve
  /** By exec: ends that are known here, and of which nobody could be told yet. */
  readonly knownEnds: Map<string, Finished>
  readonly standIns: readonly StandIn[]
  readonly failpoint: ExecFailpoint
  readonly now: () => Date
  readonly log: (about: string, error: unknown) => void
  /** Knows every value that an exec was given. */
  readonly redaction?: Redaction | undefined
  /** How often an end is tried to be written before it is left for later. */
  readonly mostTries?: number | undefined
  /** Nobody waits any longer: what does not succeed now is given up. */
  readonly hurried?: AbortSignal | undefined
}

export interface Finished extends Ending {
  /** Absent: now. */
  readonly ended_at?: string
  readonly duration_ms: number | null
  readonly stdout_truncated: boolean
  readonly stderr_truncated: boolean
}

const pauseMs = 500
const enoughTries = 60

/**
 * The row as it is then. An exec whose end cannot be written, because the disk is full or the database away, is tried again, for a while
 * here and then among the strays: what happened is known as long as this process lives, and must not become a guess.
 */
export async function finishExec(parts: FinishParts, row: ExecRow, finished: Finished): Promise<ExecRow | undefined> {
  const { knownEnds, mostTries = enoughTries, hurried } = parts
  // It ended now, however late that can be written.
  const known: KnownEnd = { ...finished, ended_at: finished.ended_at ?? parts.now().toISOString() }
  knownEnds.set(row.exec_id, known)
  for (let tries = 1; ; tries++) {
    try {
      const ended = await writeEnd(parts, row, known)
      knownEnds.delete(row.exec_id)
      parts.reserve.renew()
      return ended
    } catch (error) {
      if (isFull(error) && parts.reserve.release()) continue
      if (tries >= mostTries || hurried?.aborted === true) throw error
      if (tries === 1) parts.log(`the end of ${row.exec_id} could not be written, and is tried again`, error)
      await pause(pauseMs, hurried)
    }
  }
}

/** Whoever takes away what is too much may not come to write that down, and nobody could see it afterwards. */
const overMark = '.over-limit'

async function writeEnd(parts: FinishParts, row: ExecRow, finished: KnownEnd): Promise<ExecRow | undefined> {
  const { store, root } = parts
  const current = await store.execs.find(row.exec_id)
  // Another server was given the exec, or it has ended: nothing of it is ours to write any more.
  if (current === undefined || current.fence !== row.fence || hasEnded(current.status)) return current
  const said = saidEnd(root, row)
  if (said !== undefined) return enterEnd(parts, current, said)
  // An exec whose files are gone has ended all the same, and must not be tried again for ever.
  if (remakeExecPlace(root, row)) parts.log(`the files of ${row.exec_id} were gone at its end`, undefined)
  const { ended_at, duration_ms, stdout_truncated, stderr_truncated } = finished
  await noteEnd(root, current, finished)
  takeStandIns(filesPlace(root, row), parts.standIns)
  const onLeft = (error: unknown): void => parts.log(`artifacts of ${row.exec_id} beyond its limit are left`, error)
  const mark = join(execPlace(root, row), overMark)
  await trimToLimit(filesPlace(root, row), limitOf(row), {
    onOver: () => closeSync(openSync(mark, 'w', 0o644)),
    onLeft,
  })
  const wasOver = existsSync(mark)
  if (parts.redaction !== undefined) await redactArtifacts(filesPlace(root, row), parts.redaction)
  const { status, exit_code, error_reason } = wasOver ? overLimit(finished) : finished
  const change = { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }
  await writeFiles(parts, { ...current, ...change }, wasOver || error_reason === 'artifacts_limit_exceeded')
  return enterEnd(parts, current, change)
}

/** As the row has them. */
export type EndWords = Pick<
  ExecRow,
  'status' | 'exit_code' | 'error_reason' | 'ended_at' | 'duration_ms' | 'stdout_truncated' | 'stderr_truncated'
>

/** Where its files say already how it ended, nobody ends it otherwise. What they say of another attempt is of a server that came too late. */
export function saidEnd(root: string, row: ExecRow): EndWords | undefined {
  const meta = readMeta(root, row)
  if (meta === undefined || !hasEnded(meta.status) || meta.boundary_id !== row.boundary_id) return undefined
  const { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated } = meta
  return { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }
}

/** The file says it, and is synced. */
export async function enterEnd(parts: FinishParts, row: ExecRow, end: EndWords): Promise<ExecRow | undefined> {
  // Behind the row nobody would come back to take them away.
  forgetMarks(parts.root, row)
  parts.failpoint('exec.end.beforeRow')
  const isTaken = await parts.store.execs.update(row.exec_id, row.fence, end, { durability: 'written' })
  parts.failpoint('exec.end.afterRow')
  return isTaken ? { ...row, ...end } : sayWhatTheRowSays(parts, row)
}

/** What is kept of an exec in its directory until meta.json says how it ended. */
function forgetMarks(root: string, name: ExecName): void {
  rmSync(join(execPlace(root, name), overMark), { force: true })
  forgetEnd(root, name)
  forgetInputs(root, name)
  forgetStarting(root, name)
  forgetCuts(root, name)
}

/** Another server was given the exec while we were at it. If it has ended it, our words stand over its own, and an index made anew would take them. */
async function sayWhatTheRowSays({ root, store }: FinishParts, { exec_id }: ExecRow): Promise<ExecRow | undefined> {
  const row = await store.execs.find(exec_id)
  if (row !== undefined && hasEnded(row.status)) await writeMeta(root, row, { sync: true })
  return row
}

/** For an exec that ends without having begun, too. */
export async function writeFiles(
  { root, now, standIns, failpoint }: Pick<FinishParts, 'root' | 'now' | 'standIns' | 'failpoint'>,
  ended: ExecRow,
  isOverLimit: boolean,
): Promise<void> {
  takeStandIns(filesPlace(root, ended), standIns)
  const onHashed = (): void => failpoint('exec.end.whileHashing')
  const beforeRename = (): void => failpoint('exec.end.beforeManifestRename')
  const list = async (): Promise<void> => {
    const manifest = await makeManifest({ root, name: ended, overLimit: isOverLimit, now, onHashed })
    await writeRecord(recordPlace(root, ended, 'manifest.json'), manifestText(manifest), { sync: true, beforeRename })
  }
  // Side by side, since the disk is what takes the time. The word of the end comes when all it speaks of is there.
  await Promise.all([syncOutput(root, ended, 'stdout.txt'), syncOutput(root, ended, 'stderr.txt'), list()])
  failpoint('exec.end.beforeMeta')
  await writeMeta(root, ended, { sync: true })
  sweepTemporaries(root, ended)
  await syncDirectory(execPlace(root, ended))
}

/** Makes it, too, where the command never began. */
async function syncOutput(root: string, row: ExecRow, name: 'stdout.txt' | 'stderr.txt'): Promise<void> {
  const file = openOutput(recordPlace(root, row, name), { limitBytes: 0, onGrown: () => {} })
  try {
    await file.sync()
  } finally {
    file.close()
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    await syncFile(fd)
  } catch (error) {
    if (!isErrno(error, 'EINVAL')) throw error
  } finally {
    closeSync(fd)
  }
}

function limitOf(row: ExecRow): number {
  const limit = row.policy_snapshot?.['max_artifacts_bytes_total']
  if (typeof limit === 'number') return limit
  throw new GloveboxError('RECORD_DAMAGED', `Cannot end ${row.exec_id}: its record has no policy`)
}
