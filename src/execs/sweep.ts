// Directories of requests that were never accepted, because their server died in between: they have no record, and nobody was
// told of them.
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { isErrno } from '../paths/refusal.ts'
import { execPlace, recordPlace } from './layout.ts'

/** An accepted request has its record long before. */
const graceMs = 60_000

export interface SweepOptions {
  readonly root: string
  readonly now: () => Date
}

/** How many were taken away. */
export async function sweepUnaccepted({ root, now }: SweepOptions): Promise<number> {
  let swept = 0
  for (const project_id of await namesIn(join(root, 'projects'))) {
    let looked = 0
    for (const exec_id of await namesIn(join(root, 'projects', project_id, 'artifacts'))) {
      if (++looked % 256 === 0) await turn()
      const name = { project_id, exec_id }
      if (!isOlder(exec_id, now().getTime() - graceMs) || existsSync(recordPlace(root, name, 'meta.json'))) continue
      await rm(execPlace(root, name), { recursive: true, force: true })
      swept += 1
    }
  }
  return swept
}

/** The time is in the id; what has another name is nothing of ours. */
function isOlder(execId: string, than: number): boolean {
  const [, madeAt] = /^exec_([0-9a-f]{12})[0-9a-f]{20}$/.exec(execId) ?? []
  return madeAt !== undefined && Number.parseInt(madeAt, 16) < than
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory, { withFileTypes: true }))
      .filter((each) => each.isDirectory())
      .map(({ name }) => name)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}
