// What a diff of a run says, file by file. Plain data: a terminal, JSON and a web page are made from the same.
import type { TreeEntry } from '../../contract/recorded-action.ts'

export interface Side {
  readonly path: string
  readonly kind: TreeEntry['kind']
  readonly size: number | null
  readonly mode: number
  readonly sha256: string | null
  readonly target: string | null
}

export interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** Each begins with ` `, `+`, `-`, or with `\` for a last line without its break. */
  readonly lines: readonly string[]
}

export type ContentDiff =
  /** There is none on either side, or it is the same on both. */
  | { readonly kind: 'same' }
  | { readonly kind: 'text'; readonly added: number; readonly removed: number; readonly hunks: readonly Hunk[] }
  | { readonly kind: 'binary' }
  /** It was too large to be kept, or there was no room. */
  | { readonly kind: 'unknown' }

export interface FileDiff {
  readonly change: 'created' | 'changed' | 'deleted' | 'renamed'
  /** Null of what was created. */
  readonly before: Side | null
  /** Null of what was deleted. */
  readonly after: Side | null
  readonly content: ContentDiff
}

export interface DiffSummary {
  readonly created: number
  readonly changed: number
  readonly deleted: number
  readonly renamed: number
  /** Lines of text. */
  readonly added: number
  readonly removed: number
}

export function summaryOf(files: readonly FileDiff[]): DiffSummary {
  const count = (change: FileDiff['change']): number => files.filter((file) => file.change === change).length
  const lines = (which: 'added' | 'removed'): number =>
    files.reduce((sum, { content }) => sum + (content.kind === 'text' ? content[which] : 0), 0)
  return {
    created: count('created'),
    changed: count('changed'),
    deleted: count('deleted'),
    renamed: count('renamed'),
    added: lines('added'),
    removed: lines('removed'),
  }
}

export const pathOf = ({ before, after }: FileDiff): string => (after ?? before)?.path ?? ''
