// What a file is, in the words of the contract.
import type { BigIntStats } from 'node:fs'
import type { EntryKind } from '../contract/files.ts'

export function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}
