// `glovebox reindex`: the database and the files of this installation, found as its server finds them.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
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
  for (const [what, path] of namedPlaces(asked)) refuseMissing(what, path)
  const data = dataHome(asked.data)
  const workspace = asked.workspace ?? placeWorkspace(settings.sandbox, data).host_path_native
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(stateHome()), onDamage: 'quarantine' })
  try {
    const report = await indexFiles(store, { workspace, runs: asked.runs ?? join(data, 'runs') })
    store.indexed()
    return { ...report, quarantined: store.unindexedSince ?? null }
  } finally {
    await store.close()
  }
}

/** What a person named is looked for, and never made: files that are to be indexed are there already. */
const namedPlaces = (asked: Pick<ReindexOptions, 'data' | 'workspace' | 'runs'>) =>
  [
    ['--data', asked.data],
    ['GLOVEBOX_DATA_DIR', asked.data === undefined ? process.env['GLOVEBOX_DATA_DIR'] || undefined : undefined],
    ['--workspace', asked.workspace],
    ['--runs', asked.runs],
  ] as const

function refuseMissing(what: string, path: string | undefined): void {
  if (path === undefined || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw new GloveboxError('INVALID_INPUT', `Cannot index the files: the directory of ${what} does not exist`, {
    hint: 'Name the directory that the server was given. Nothing was made or changed.',
    operatorDetail: path,
  })
}
