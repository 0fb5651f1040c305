// Files of the directory of leases, under its lock.
import { closeSync, openSync, readSync, renameSync, statSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openIfThere, readIfThere } from '../../paths/if-there.ts'
import { isErrno } from '../../paths/refusal.ts'

/** Longer than anything that is written here, and less than a page. */
const bytes = 1024
const page = Buffer.alloc(bytes)

/** A file between two writes. */
export interface Rewriting {
  /** What is in it. Undefined: there is no such file. */
  readonly text: string | undefined
  /** Puts this in its place. */
  readonly write: (text: string) => void
}

/**
 * Whole for every reader, and for as long as the machine runs: leases end with it. What is there already is written over in place: ext4
 * waits for the disk when a rename replaces a file, which costs more than all the rest of a grant. Everybody reads and writes under the
 * lock, and one write of less than a page is not torn by a kill.
 */
export function rewriteUnsynced<Value>(
  file: string,
  work: (now: Rewriting) => Value,
  /** It is as good as certain that it is there: looking first would be a waste. */
  isExpected = false,
): Value {
  const descriptor = isExpected ? openUnlessGone(file) : openIfThere(file, 'r+')
  if (descriptor === undefined) return work({ text: undefined, write: (text) => writeNew(file, text) })
  try {
    return work({ text: readWhole(descriptor), write: (text) => overwrite(descriptor, text) })
  } finally {
    closeSync(descriptor)
  }
}

function openUnlessGone(file: string): number | undefined {
  try {
    return openSync(file, 'r+')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Undefined: there is none. */
export function readUnsynced(file: string): string | undefined {
  const text = readIfThere(file)
  return text === undefined ? undefined : withoutFilling(text)
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
  if (descriptor === undefined) writeFileSync(next, padded(text), { mode: 0o600 })
  else
    try {
      overwrite(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
  renameSync(next, file)
}

/** What was there was as long. */
const padded = (text: string): string => text.padEnd(bytes, '\n')
const overwrite = (descriptor: number, text: string): void => void writeSync(descriptor, padded(text), 0)

const readWhole = (descriptor: number): string =>
  withoutFilling(page.toString('latin1', 0, readSync(descriptor, page, 0, bytes, 0)))

function withoutFilling(text: string): string {
  const filling = text.indexOf('\n\n')
  return filling < 0 ? text : text.slice(0, filling + 1)
}
