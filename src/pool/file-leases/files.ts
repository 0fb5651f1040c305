// Files of the directory of leases, under its lock.
import { closeSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isErrno } from '../../paths/refusal.ts'

/** Longer than anything that is written here, and less than a page. */
const bytes = 1024

/**
 * Whole for every reader, and for as long as the machine runs: leases end with it. What is there already is written over in place: ext4
 * waits for the disk when a rename replaces a file, which costs more than all the rest of a grant. Everybody reads and writes under the
 * lock, and one write of less than a page is not torn by a kill.
 */
export function replaceUnsynced(file: string, text: string): void {
  const whole = text.padEnd(bytes, '\n')
  const descriptor = openIfThere(file)
  if (descriptor === undefined) return writeNew(file, whole)
  try {
    writeSync(descriptor, whole, 0)
  } finally {
    closeSync(descriptor)
  }
}

/** One writer at a time, so one temporary name. */
function writeNew(file: string, text: string): void {
  const temporary = join(dirname(file), 'next.tmp')
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, file)
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r+')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export function unlinkIfThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
