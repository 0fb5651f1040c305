// `glovebox reindex`: makes the database's index of execs and runs anew from their files.
import { resolve } from 'node:path'
import { reindex as rebuild, type Reindexed } from '../../runtime/reindex/reindex.ts'
import { jsonLine, printable } from '../output.ts'
import type { Doing } from '../program.ts'

export interface ReindexFlags {
  readonly json?: boolean
  readonly debug?: boolean
  readonly config?: string
  readonly data?: string
  readonly workspace?: string
  readonly runs?: string
}

export async function reindex(flags: ReindexFlags, { face, directory }: Doing): Promise<number> {
  const placed = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(directory, path)
  const done = await rebuild({
    directory,
    settingsFile: placed(flags.config),
    data: placed(flags.data),
    workspace: placed(flags.workspace),
    runs: placed(flags.runs),
  })
  await face.out.write(flags.json === true ? jsonLine(done) : `Indexed ${done.execs} execs and ${done.runs} runs.\n`)
  await face.err.write(remarks(done))
  return done.unreadable.length === 0 ? 0 : 1
}

function remarks({ unreadable, missing, quarantined }: Reindexed): string {
  const lines = [
    ...(quarantined === null
      ? []
      : [
          `The database was damaged and is kept as ${quarantined}. Tokens are not in files: make new ones.`,
          'A server that had it open must be started again; it answers nothing that needs a database until then.',
        ]),
    ...unreadable.map(({ place, why }) => `Not indexed: ${place}: ${why}`),
    ...missing.map((runId) => `The directory of run ${runId} is gone; it stays listed.`),
  ]
  return lines.map((line) => `glovebox: ${printable(line)}\n`).join('')
}
