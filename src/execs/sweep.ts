// Directories of requests that were never accepted, because their server died in between: they have no record, and nobody was
// told of them.
import { existsSync, lstatSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../contract/store.ts'
import { isErrno } from '../paths/refusal.ts'
import { execPlace, recordPlace } from './layout.ts'

/** An accepted request has its record long before. */
const graceMs = 60_000

export interface SweepOptions {
  readonly root: string
  /** An exec that is in the store was accepted, though its server died before its first record. */
  readonly store: Pick<Store, 'execs'>
  readonly now: () => Date
}

/** How many were taken away. */
export async function sweepUnaccepted({ root, store, now }: SweepOptions): Promise<number> {
  let swept = 0
  for (const project_id of await namesIn(join(root, 'projects'))) {
    let looked = 0
    for (const exec_id of await namesIn(join(root, 'projects', project_id, 'artifacts'))) {
      if (++looked % 256 === 0) await turn()
      const name = { project_id, exec_id }
      const place = execPlace(root, name)
      if (!isExec.test(exec_id) || existsSync(recordPlace(root, name, 'meta.json'))) continue
      if (!isOlder(place, now().getTime() - graceMs)) continue
      if ((await store.execs.find(exec_id)) !== undefined) continue
      await rm(place, { recursive: true, force: true })
      swept += 1
    }
  }
  return swept
}

/** What has another name is nothing of ours. */
const isExec = /^exec_[0-9a-f]{32}$/

/** The guest never sees this directory itself, so its time is the server's. */
function isOlder(place: string, than: number): boolean {
  const seen = lstatSync(place, { throwIfNoEntry: false })
  return seen !== undefined && seen.mtimeMs < than
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
