// Files of the directory of leases, under its lock.
import { closeSync, renameSync, statSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openIfThere } from '../../paths/if-there.ts'

/** Longer than anything that is written here, and less than a page. */
const bytes = 1024

/**
 * Whole for every reader, and for as long as the machine runs: leases end with it. What is there already is written over in place: ext4
 * waits for the disk when a rename replaces a file, which costs more than all the rest of a grant. Everybody reads and writes under the
 * lock, and one write of less than a page is not torn by a kill.
 */
export function replaceUnsynced(file: string, text: string): void {
  const whole = text.padEnd(bytes, '\n')
  const descriptor = openIfThere(file, 'r+')
  if (descriptor === undefined) writeNew(file, whole)
  else writeAndClose(descriptor, whole)
}

/** Takes it away. It becomes the next new one, if there is none yet: a new file costs more than all the rest of a grant, too. */
export function letGo(file: string): void {
  if (statSync(nextIn(file), { throwIfNoEntry: false }) === undefined) renameSync(file, nextIn(file))
  else unlinkSync(file)
}

/** One writer at a time, so one name for what becomes the next file. */
const nextIn = (file: string): string => join(dirname(file), 'next.tmp')

function writeNew(file: string, text: string): void {
  const next = nextIn(file)
  const descriptor = openIfThere(next, 'r+')
  if (descriptor === undefined) writeFileSync(next, text, { mode: 0o600 })
  else writeAndClose(descriptor, text)
  renameSync(next, file)
}

function writeAndClose(descriptor: number, text: string): void {
  try {
    writeSync(descriptor, text, 0)
  } finally {
    closeSync(descriptor)
  }
}
