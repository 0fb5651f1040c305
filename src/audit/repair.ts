// Torn bytes at the end of a file are kept aside, never thrown away, and the log tells that it was done. The copy bears
// `.unrecorded` in its name until then, so a kill in between leaves a repair that the next writer still records.
import { mkdirSync, readFileSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cutAt } from '../paths/cut-at.ts'
import { namesIfThere } from '../paths/if-there.ts'
import { dataText } from './entry.ts'
import { placeFile, syncDirectory, tornDirectory, type AuditPlace } from './files.ts'
import { sha256, type Unsealed } from './record.ts'

const mark = '.unrecorded'
const form = /^(.+)\.(\d+)\.[0-9a-f]{16}\.torn\.unrecorded$/

export interface Repair {
  readonly name: string
  readonly record: Unsealed
}

export function setAside(place: AuditPlace, path: string, at: number, torn: Buffer): void {
  mkdirSync(tornDirectory(place), { recursive: true, mode: 0o700 })
  // Named by place and content: a repair that was itself interrupted finds its own copy again.
  const name = `${basename(path)}.${at}.${sha256(torn).slice(0, 16)}.torn${mark}`
  placeFile(join(tornDirectory(place), name), torn)
  cutAt(path, at)
}

export function unrecordedRepairs(place: AuditPlace): readonly Repair[] {
  return namesIfThere(tornDirectory(place))
    .toSorted()
    .flatMap((name) => {
      const [, file, offset] = form.exec(name) ?? []
      if (file === undefined) return []
      const torn = readFileSync(join(tornDirectory(place), name))
      const kept = name.slice(0, -mark.length)
      const data = { file, offset: Number(offset), bytes: torn.length, sha256: sha256(torn), kept }
      return [{ name, record: ownRecord('audit.repair', file, dataText(data)) }]
    })
}

export function markRecorded(place: AuditPlace, { name }: Repair): void {
  renameSync(join(tornDirectory(place), name), join(tornDirectory(place), name.slice(0, -mark.length)))
  syncDirectory(tornDirectory(place))
}

/** What the log says about itself. */
export const ownRecord = (action: string, subject: string, text: string): Unsealed => ({
  actor: 'audit',
  action,
  subject,
  dataText: text,
  outcome: 'done',
  intent: null,
  by: null,
})
