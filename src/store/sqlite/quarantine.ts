// A damaged database is neither mended nor deleted: it is put aside whole, with its log, and a new one begins empty.
import { randomBytes } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'

/** The files of one database. The shared-memory file is of no use without the processes that had it open. */
const parts = ['', '-wal', '-shm'] as const

/** The new path of the database file. */
export function quarantine(path: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const target = `${path}.damaged-${time}-${randomBytes(3).toString('hex')}`
  for (const part of parts) if (existsSync(`${path}${part}`)) renameSync(`${path}${part}`, `${target}${part}`)
  return target
}
