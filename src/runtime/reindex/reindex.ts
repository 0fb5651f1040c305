// `glovebox reindex`: the database and the files of this installation, found as its server finds them.
import { join } from 'node:path'
import { databaseUrl, dataHome } from '../server/place.ts'
import { placeWorkspace } from '../server/workspace.ts'
import { loadSettings } from '../settings.ts'
import { stateHome } from '../state.ts'
import { indexFiles } from './index-files.ts'
import type { ReindexReport } from './report.ts'

export type { ReindexReport, Unreadable } from './report.ts'

export interface ReindexOptions {
  /** Where the search for settings begins. */
  readonly directory: string
  readonly settingsFile?: string | undefined
  readonly data?: string | undefined
  readonly workspace?: string | undefined
  readonly runs?: string | undefined
}

export interface Reindexed extends ReindexReport {
  /** Where the damaged database was put, if it was. */
  readonly quarantined: string | null
}

export async function reindex({ directory, settingsFile, ...asked }: ReindexOptions): Promise<Reindexed> {
  const settings = await loadSettings({ directory, ...(settingsFile === undefined ? {} : { settingsFile }) })
  const data = dataHome(asked.data)
  const workspace = asked.workspace ?? placeWorkspace(settings.sandbox, data).host_path_native
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(stateHome()) })
  try {
    const report = await indexFiles(store, { workspace, runs: asked.runs ?? join(data, 'runs') })
    return { ...report, quarantined: store.quarantined ?? null }
  } finally {
    await store.close()
  }
}
