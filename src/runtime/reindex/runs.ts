// Runs, from their directories: `<runs>/<project_id>/<run_id>/`, and those that lie directly in the root and belong to no
// project. A damaged run is indexed as far as its log can be trusted, as lists show it.
import { existsSync } from 'node:fs'
import type { RunRecord } from '../../contract/run.ts'
import type { PageKey, RunTable } from '../../contract/store.ts'
import { placeIn } from '../../runs/layout.ts'
import { findRunJson, readRun } from '../../runs/reader.ts'
import { rowOf } from '../runs/row.ts'
import { directoriesIn } from './directories.ts'
import { readable, whyUnreadable, type Unreadable } from './report.ts'

export interface IndexedRuns {
  readonly runs: number
  readonly unreadable: readonly Unreadable[]
}

const isRun = (directory: string): boolean =>
  existsSync(placeIn(directory, 'events.jsonl')) || existsSync(placeIn(directory, 'run.json'))

export async function indexRuns(root: string, table: RunTable): Promise<IndexedRuns> {
  const unreadable: Unreadable[] = []
  let runs = 0
  const index = async (directory: string, project_id: string | null): Promise<void> => {
    const record = await recordOf(directory)
    if (typeof record === 'string') return void unreadable.push({ place: directory, why: record })
    // It can be done again.
    await table.put(rowOf(record, directory, project_id), { durability: 'written' })
    runs += 1
  }
  for (const first of directoriesIn(root)) {
    if (isRun(first.path)) {
      await index(first.path, null)
      continue
    }
    const within = readable(() => directoriesIn(first.path))
    if (typeof within === 'string') unreadable.push({ place: first.path, why: within })
    else for (const { path } of within) if (isRun(path)) await index(path, first.name)
  }
  return { runs, unreadable }
}

/** The record, or why there is none. run.json where it is whole; else what the log folds to. */
async function recordOf(directory: string): Promise<RunRecord | string> {
  try {
    return findRunJson(directory) ?? (await readRun(directory)).record ?? 'not even its first event can be read'
  } catch (error) {
    return whyUnreadable(error)
  }
}

/** Ids of runs whose directory is gone. */
export async function missingRuns(table: RunTable): Promise<readonly string[]> {
  const missing: string[] = []
  for (let after: PageKey | null | undefined; after !== null;) {
    const { rows, next } = await table.list({}, { limit: 1000, after })
    missing.push(...rows.filter(({ directory }) => !existsSync(directory)).map(({ run_id }) => run_id))
    after = next
  }
  return missing
}
