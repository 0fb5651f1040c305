// How a run stands, without taking hold of it. `glanceAtRun` believes run.json, which is quick and enough for a list;
// `lookAtRun` folds the events. Both say truthfully when the process at work on a run is gone.
import type { RunRecord } from '../../contract/run.ts'
import { needsOwner } from '../../contract/run.ts'
import { isPrepared } from '../../runs/fork/prepared.ts'
import { findOwner } from '../../runs/ownership.ts'
import { findRunJson, readRun, type RunView } from '../../runs/reader.ts'
import { asStorageError } from '../../runs/storage-error.ts'

export interface RunLook {
  readonly directory: string
  /** Null when not even the first event can be read. */
  readonly record: RunRecord | null
  /** What no crash explains. Such a run is frozen: it can be read, and nothing else. */
  readonly damage: string | null
  /** The process that is at work on it, if it lives. */
  readonly pid: number | null
  /** Something was at work on it, and is gone. The next command that writes to the run ends it. */
  readonly isCrashed: boolean
}

export async function glanceAtRun(directory: string): Promise<RunLook> {
  try {
    const record = findRunJson(directory)
    const pid = livingOwner(directory)
    // Between the two the run may have ended: only the events tell.
    if (record === undefined || (needsOwner(record.status) && !isPrepared(record) && pid === null))
      return await lookAtRun(directory)
    return { directory, record, damage: null, pid, isCrashed: false }
  } catch (error) {
    throw asStorageError(error, 'read the run')
  }
}

export async function lookAtRun(directory: string): Promise<RunLook & Pick<RunView, 'integrity' | 'events'>> {
  try {
    // Asked first: a run that ends in between is then seen as ended, and not as crashed.
    const pid = livingOwner(directory)
    const { record, damage, integrity, events } = await readRun(directory)
    const isCrashed =
      record !== null && damage === null && needsOwner(record.status) && !isPrepared(record) && pid === null
    return { directory, record, damage, pid, isCrashed, integrity, events }
  } catch (error) {
    throw asStorageError(error, 'read the run')
  }
}

function livingOwner(directory: string): number | null {
  const owner = findOwner(directory)
  return owner?.isAlive === true ? owner.pid : null
}
