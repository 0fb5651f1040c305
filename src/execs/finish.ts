// The end of an exec, written down: what the guest left is bounded and listed, the files are synced, and then the row says what
// meta.json says. Each step may be done again by whoever finds it half done.
import { closeSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Redaction } from '../contract/redaction.ts'
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { syncFile } from '../paths/content.ts'
import { isErrno } from '../paths/refusal.ts'
import { trimToLimit } from './artifact-limit.ts'
import { overLimit, type Ending } from './ending.ts'
import { execPlace, filesPlace, recordPlace } from './layout.ts'
import { makeManifest } from './manifest.ts'
import { openOutput } from './output-file.ts'
import { redactArtifacts } from './redact-artifacts.ts'
import type { Reserve } from './reserve.ts'
import { takeStandIns, type StandIn } from './stand-ins.ts'
import { isFull } from './storage-fault.ts'
import { sweepTemporaries, writeMeta, writeRecord } from './record.ts'

export interface FinishParts {
  readonly root: string
  readonly store: Store
  readonly reserve: Reserve
  readonly standIns: readonly StandIn[]
  readonly now: () => Date
  readonly log: (about: string, error: unknown) => void
  /** Knows every value that an exec was given. */
  readonly redaction?: Redaction | undefined
}

export interface Finished extends Ending {
  readonly duration_ms: number | null
  readonly stdout_truncated: boolean
  readonly stderr_truncated: boolean
}

const pauseMs = 500
const mostTries = 60

/**
 * The row as it is then. An exec whose end cannot be written, because the disk is full or the database away, is tried again: what
 * happened is known and must not become a guess.
 */
export async function finishExec(parts: FinishParts, row: ExecRow, finished: Finished): Promise<ExecRow | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      const ended = await writeEnd(parts, row, finished)
      parts.reserve.renew()
      return ended
    } catch (error) {
      if (isFull(error) && parts.reserve.release()) continue
      if (tries === 1) parts.log(`the end of ${row.exec_id} could not be written, and is tried again`, error)
      if (tries >= mostTries) throw error
      await delay(pauseMs)
    }
  }
}

async function writeEnd(parts: FinishParts, row: ExecRow, finished: Finished): Promise<ExecRow | undefined> {
  const { store, root } = parts
  const current = await store.execs.find(row.exec_id)
  // Another server was given the exec, or it has ended: nothing of it is ours to write any more.
  if (current === undefined || current.fence !== row.fence || hasEnded(current.status)) return current
  const { duration_ms, stdout_truncated, stderr_truncated } = finished
  takeStandIns(filesPlace(root, row), parts.standIns)
  const { wasOver } = await trimToLimit(filesPlace(root, row), limitOf(row))
  if (parts.redaction !== undefined) await redactArtifacts(filesPlace(root, row), parts.redaction)
  const { status, exit_code, error_reason } = wasOver ? overLimit(finished) : finished
  const ended_at = parts.now().toISOString()
  const change = { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }
  const ended: ExecRow = { ...current, ...change }
  await writeFiles(parts, ended, wasOver || error_reason === 'artifacts_limit_exceeded')
  // The file says it, and is synced.
  const isTaken = await store.execs.update(row.exec_id, row.fence, change, { durability: 'written' })
  return isTaken ? ended : store.execs.find(row.exec_id)
}

/** For an exec that ends without having begun, too. */
export async function writeFiles(
  { root, now, standIns }: Pick<FinishParts, 'root' | 'now' | 'standIns'>,
  ended: ExecRow,
  isOverLimit: boolean,
): Promise<void> {
  takeStandIns(filesPlace(root, ended), standIns)
  await Promise.all([syncOutput(root, ended, 'stdout.txt'), syncOutput(root, ended, 'stderr.txt')])
  const manifest = await makeManifest({ root, name: ended, overLimit: isOverLimit, now })
  await writeRecord(recordPlace(root, ended, 'manifest.json'), manifest, { sync: true })
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
