// Files of a sandbox, reached from the operator's side. The guest is hostile and may swap any
// component of any path at any time, so an implementation works on descriptors, never on checked strings.
import type { GuestPath } from './mount.ts'

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other'

export interface FileStat {
  readonly path: GuestPath
  readonly kind: EntryKind
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** Permission bits only. */
  readonly mode: number
  /** Where a symlink points, as written in it. */
  readonly target?: string
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: EntryKind
  readonly sizeBytes: number
  readonly target?: string
}

export interface ListResult {
  readonly entries: readonly DirectoryEntry[]
  readonly truncated: boolean
}

export interface ReadOptions {
  readonly offset?: number
  /** At most this many bytes are returned. A larger file is refused with TOO_LARGE unless `partial`. */
  readonly maxBytes: number
  readonly partial?: boolean
}

export interface ReadResult {
  readonly bytes: Uint8Array
  readonly sizeBytes: number
  /** Law: parts of a file that have the same version are of one state of one file. */
  readonly version: string
}

export interface WriteOptions {
  /** Refuse with CONFLICT unless the present content has this hash; `null` demands that no file is there. */
  readonly expectedSha256?: string | null
  /** Make missing parent directories. Default true. */
  readonly parents?: boolean
}

export interface FileAccess {
  /** Law: stat does not follow a symlink; it shows it. */
  stat(path: GuestPath): Promise<FileStat>
  /** Law: list is sorted by name, shows nested mounts as entries, and says when it is truncated. */
  list(path: GuestPath, options: { readonly limit: number }): Promise<ListResult>
  read(path: GuestPath, options: ReadOptions): Promise<ReadResult>
  /** Law: write replaces atomically; a reader sees the old bytes or the new, never a mixture. */
  write(path: GuestPath, bytes: Uint8Array, options?: WriteOptions): Promise<{ readonly created: boolean }>
  append(path: GuestPath, bytes: Uint8Array): Promise<void>
  /** Read, change and replace under one lock. `change` returns the new bytes. */
  update(
    path: GuestPath,
    options: { readonly maxBytes: number },
    change: (bytes: Uint8Array) => Uint8Array,
  ): Promise<void>
  mkdir(path: GuestPath, options?: { readonly parents?: boolean }): Promise<{ readonly created: boolean }>
  remove(path: GuestPath, options?: { readonly recursive?: boolean }): Promise<void>
  rename(from: GuestPath, to: GuestPath): Promise<void>
}
