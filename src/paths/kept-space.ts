// Space that is kept back on a disk, as a file, for what must find room when the disk is full. It is given a page at a time: what is given
// is free for everybody on the disk, who may be quicker.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { cutAt } from './cut-at.ts'
import { isErrno } from './refusal.ts'

export const pageBytes = 4096

export interface KeptSpace {
  /** Now. */
  size(): number
  /** Up to all of it. Throws ENOSPC where there is no room for that; what there was room for is kept. */
  grow(): void
  /** Lets go of a page, and leaves so much. False: there is no more than that. */
  give(leaves: number): boolean
}

export const isNoSpace = (error: unknown): boolean => isErrno(error, 'ENOSPC', 'EDQUOT')

export function keptSpace(path: string, bytes: number): KeptSpace {
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return {
    size,
    grow() {
      const descriptor = openSync(path, 'a', 0o600)
      try {
        const fault = fill(descriptor, bytes - size())
        fsyncSync(descriptor)
        if (fault !== undefined) throw fault
      } finally {
        closeSync(descriptor)
      }
    },
    give(leaves) {
      const held = size()
      if (held <= leaves) return false
      const rest = Math.max(leaves, held - pageBytes)
      // The file itself takes room in some directories, too.
      if (rest === 0) unlinkSync(path)
      else cutAt(path, rest)
      return true
    },
  }
}

/** Bytes of chance, since a filesystem may store zeros in no space at all. */
function fill(descriptor: number, bytes: number): Error | undefined {
  try {
    for (let left = bytes; left > 0;) left -= writeSync(descriptor, randomBytes(Math.min(pageBytes, left)))
    return undefined
  } catch (error) {
    if (isNoSpace(error)) return error as Error
    throw error
  }
}
