// The run that a request began and that nobody was told of: its server was killed, or failed, between the run and the answer. It is
// looked for in the index and in its place on disk, since one comes after the other.
import { lstatSync } from 'node:fs'
import type { RunRow, RunTable } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import { lookAtRun } from '../runs/look.ts'
import { recover } from '../runs/review.ts'
import { rowOf } from '../runs/row.ts'

export interface BegunRun {
  readonly runId: string
  readonly project: string
  readonly directory: string
}

/** Undefined only where nothing came to be. One that nobody works on any more is ended first; one that cannot be read is refused. */
export async function findBegun(index: RunTable, { runId, project, directory }: BegunRun): Promise<RunRow | undefined> {
  const known = await index.find(runId)
  if (known !== undefined) return known
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return undefined
  const { record, isCrashed } = await lookAtRun(directory)
  if (record === null)
    throw new GloveboxError('RECORD_DAMAGED', `Cannot answer for the run ${runId}: its record cannot be read`, {
      operatorDetail: directory,
    })
  const now = isCrashed ? (await recover({ directory, runId })).record : record
  const row = rowOf(now, directory, project)
  await index.put(row)
  return row
}
