// Puts right what crashes left among the runs of a root: runs without their process are ended, torn logs cut, run.json
// folded anew. Runs that live are left alone, and so are damaged ones, which nothing mends.
import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { RunStatus } from '../../contract/run.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { findRunJson } from '../../runs/reader.ts'
import { sweepStages } from '../../runs/stages.ts'
import { listPlaces, type RunPlace, type Where } from './find.ts'
import { lookAtRun, type RunLook } from './look.ts'
import { recover } from './review.ts'

export interface Recovery extends RunPlace {
  /** `failed`: it could not be put right; `detail` says why. */
  readonly outcome: 'sound' | 'alive' | 'recovered' | 'damaged' | 'failed'
  readonly status: RunStatus | null
  readonly repairs: readonly string[]
  readonly detail: string | null
}

export async function* recoverRuns(where: Where): AsyncGenerator<Recovery> {
  const { root, runs } = listPlaces(where)
  if (existsSync(root)) sweepStages(root)
  for (const place of runs) yield { ...place, ...(await recoverOne(place.directory)) }
}

type Result = Pick<Recovery, 'outcome' | 'status' | 'repairs' | 'detail'>

async function recoverOne(directory: string): Promise<Result> {
  try {
    const look = await lookAtRun(directory)
    const seen = { status: look.record?.status ?? null, repairs: [], detail: look.damage }
    if (look.damage !== null || look.record === null) return { ...seen, outcome: 'damaged' }
    if (look.pid !== null) return { ...seen, outcome: 'alive' }
    if (isSound(look)) return { ...seen, outcome: 'sound' }
    const { record, repairs } = await recover({ directory, runId: look.record.run_id })
    return { outcome: 'recovered', status: record.status, repairs, detail: null }
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    return { outcome: 'failed', status: null, repairs: [], detail: error.message }
  }
}

const isSound = ({ directory, isCrashed, integrity, record }: RunLook & { readonly integrity: string }): boolean =>
  !isCrashed && integrity === 'intact' && isDeepStrictEqual(findRunJson(directory), record)
