// An exec of which nothing has run, back in the queue as it came. Its files say so first, as at every other change: until it begins again
// nobody writes there, and an index made anew from them would look for a boundary that never was.
import { existsSync } from 'node:fs'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { syncDirectory, type FinishParts } from './finish.ts'
import { execPlace } from './layout.ts'
import { writeMeta } from './record.ts'
import { forgetUnbegun } from './starting.ts'

/** The next server may run it on another backend, and has an image of its own. */
const unbegun = ({ image_asked }: ExecRow) =>
  ({
    status: 'QUEUED',
    started_at: null,
    backend: null,
    boundary_id: null,
    image: image_asked,
    image_id: null,
  }) as const

export async function putBack(
  { root, store, failpoint }: Pick<FinishParts, 'root' | 'store' | 'failpoint'>,
  row: ExecRow,
): Promise<void> {
  const current = await store.execs.find(row.exec_id)
  // What was found out about it may have taken long.
  if (current === undefined || current.fence !== row.fence || hasEnded(current.status)) return
  const change = unbegun(current)
  // Where somebody has removed them it is found out by whoever begins it: its inputs are gone, too.
  if (existsSync(execPlace(root, row))) {
    await writeMeta(root, { ...current, ...change }, { sync: true })
    await syncDirectory(execPlace(root, row))
  }
  failpoint('exec.putBack.beforeRow')
  const isBack = await store.execs.update(row.exec_id, row.fence, change)
  if (isBack && current.boundary_id !== null) forgetUnbegun(root, row, current.boundary_id)
}
