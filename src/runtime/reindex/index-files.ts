// Makes the index of execs and runs anew from their files, which are the truth. Nothing is deleted, nothing in the files is
// changed, and doing it twice is doing it once; a server may be at work meanwhile, unless its database had to be put aside.
import type { Store } from '../../contract/store.ts'
import { indexExecs } from './execs.ts'
import type { ReindexReport } from './report.ts'
import { indexRuns, missingRuns } from './runs.ts'

export interface IndexedPlaces {
  /** Holds `projects/<project_id>/…`. */
  readonly workspace: string
  /** Holds `<project_id>/<run_id>/`. */
  readonly runs: string
}

export async function indexFiles(store: Store, places: IndexedPlaces): Promise<ReindexReport> {
  const ofExecs = await indexExecs(places.workspace, store.execs)
  const ofRuns = await indexRuns(places.runs, store.runs)
  return {
    execs: ofExecs.execs,
    runs: ofRuns.runs,
    unreadable: [...ofExecs.unreadable, ...ofRuns.unreadable],
    missing: await missingRuns(store.runs),
  }
}
