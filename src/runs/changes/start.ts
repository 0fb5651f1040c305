// archive/base.json: the trees before the first action. Written under another name and renamed, so that a name that can be
// seen has its bytes; not synced, so that after a power cut it may be missing or empty, and its reader says so.
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StartState } from '../../contract/recorded-action.ts'
import { placeIn } from '../layout.ts'

export const startFile = (directory: string): string => join(placeIn(directory, 'archive'), 'base.json')

export function writeStart(directory: string, start: StartState): void {
  const temporary = join(placeIn(directory, 'archive'), `.base.json.${randomBytes(12).toString('hex')}.tmp`)
  try {
    writeFileSync(temporary, `${JSON.stringify(start)}\n`, { flag: 'wx', mode: 0o644 })
    renameSync(temporary, startFile(directory))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
