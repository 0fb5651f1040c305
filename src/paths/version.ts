// One word for one state of one file. The time of its last change is the kernel's: no guest sets it, as it may set the time of writing.
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chance } from '../contract/chance.ts'

/** Of what was read between two looks. Where they differ it is of no one state, and its word is like no other. */
export function versionBetween(before: BigIntStats, after: BigIntStats): string {
  const word = textOf(before)
  // Numbers of the host's devices and files are nothing for a guest.
  return word === textOf(after) ? createHash('sha256').update(word).digest('hex').slice(0, 32) : chance()
}

const textOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ')
