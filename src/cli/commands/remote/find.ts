// Which run of the server is meant: by its id, or by a beginning that no other has.
import type { Glovebox, RunDetail } from '../../../client/index.ts'
import { GloveboxError, isGloveboxError } from '../../../errors/error.ts'
import type { Doing } from '../../program.ts'
import type { RunsFlags } from '../runs/told.ts'
import { connectTo, refuseLocal } from './connect.ts'

export interface FoundRun {
  readonly glovebox: Glovebox
  readonly id: string
  readonly detail: RunDetail
}

export function serverOf(flags: RunsFlags, doing: Doing): Glovebox {
  refuseLocal(flags, ['--root'])
  return connectTo(flags, doing)
}

export async function findRun(asked: string, flags: RunsFlags, doing: Doing): Promise<FoundRun> {
  const glovebox = serverOf(flags, doing)
  try {
    return { glovebox, id: asked, detail: await glovebox.runs.get(asked) }
  } catch (error) {
    if (!isGloveboxError(error) || !['NOT_FOUND', 'INVALID_INPUT'].includes(error.code)) throw error
    const id = await idBeginning(glovebox, asked, error)
    return { glovebox, id, detail: await glovebox.runs.get(id) }
  }
}

async function idBeginning(glovebox: Glovebox, asked: string, unknown: GloveboxError): Promise<string> {
  const found: string[] = []
  for await (const { run_id } of glovebox.runs.each()) {
    if (run_id.startsWith(asked)) found.push(run_id)
    if (found.length > 1) break
  }
  const [id, other] = found
  if (id === undefined || asked === '') throw unknown
  if (other === undefined) return id
  throw new GloveboxError('INVALID_INPUT', `Cannot tell which run "${asked}" is: several begin so`, {
    hint: `Write more of it: ${id}, ${other}.`,
  })
}
