// Execs, from their meta.json: `<workspace>/projects/<project_id>/artifacts/<exec_id>/meta.json`.
import { join } from 'node:path'
import type { ExecRow, ExecTable } from '../../contract/store.ts'
import { readMeta, rowFrom } from '../../execs/record.ts'
import { directoriesIn } from './directories.ts'
import { readable, type Unreadable } from './report.ts'

const rowsAtOnce = 500

export interface IndexedExecs {
  readonly execs: number
  readonly unreadable: readonly Unreadable[]
}

export async function indexExecs(workspace: string, table: ExecTable): Promise<IndexedExecs> {
  const unreadable: Unreadable[] = []
  let waiting: ExecRow[] = []
  let execs = 0
  for (const project of directoriesIn(join(workspace, 'projects'))) {
    const artifacts = join(project.path, 'artifacts')
    const within = readable(() => directoriesIn(artifacts))
    if (typeof within === 'string') {
      unreadable.push({ place: artifacts, why: within })
      continue
    }
    for (const { name, path } of within) {
      const read = rowOf(workspace, project.name, name)
      if (typeof read === 'string') unreadable.push({ place: path, why: read })
      // What the files call open may be at work: a row that is there knows more, and is not taken from its server.
      else if (read.owner === null || (await table.find(read.exec_id)) === undefined) waiting.push(read)
      if (waiting.length < rowsAtOnce) continue
      await table.restore(waiting)
      execs += waiting.length
      waiting = []
    }
  }
  await table.restore(waiting)
  return { execs: execs + waiting.length, unreadable }
}

/** The row, or why there is none. */
function rowOf(workspace: string, project_id: string, exec_id: string): ExecRow | string {
  const meta = readable(() => readMeta(workspace, { project_id, exec_id }))
  if (typeof meta === 'string') return meta
  if (meta === undefined) return 'there is no meta.json of this exec that can be read'
  // SECURITY: whose exec it is follows from where it lies; a record moved to another project must not be shown there.
  // test/e2e/reindex: "a record that lies in another project than it says is left out"
  if (meta.project_id !== project_id) return 'its meta.json speaks of another project'
  return rowFrom(meta)
}
