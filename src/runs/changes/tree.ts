// What is remembered of the two trees between two looks: a node for each entry, with what the kernel said of it and the
// hash of its content. Names are bytes; a key holds one character for each of them, so that every name has its own.
import type { Stats } from 'node:fs'
import type { TreeEntry } from '../../contract/recorded-action.ts'
import type { Name } from '../../paths/descriptor.ts'

/** What is recorded of an entry. */
export interface Facts {
  readonly kind: TreeEntry['kind']
  readonly size: number | null
  readonly mode: number
  readonly sha256: string | null
  readonly target: string | null
  readonly kept: boolean
  /** In a layer of an overlay: nothing is here, whatever lies below. */
  readonly isWhiteout?: boolean
}

/**
 * The identity of one state of one inode. The guest can set every time but ctime, and no two inodes share a number while
 * both are there. As a number of milliseconds a time is good to a quarter of a microsecond, which is shorter than a look.
 */
export interface Stamp {
  readonly dev: number
  readonly ino: number
  readonly size: number
  readonly mode: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

export interface TreeNode {
  readonly name: Name
  readonly parent: TreeNode | undefined
  readonly depth: number
  facts: Facts
  stamp: Stamp
  /** The stamp may stand for two states: compare the content at the next look. */
  isDoubtful: boolean
  /** Entries below could not all be seen: try again at the next look. */
  isPartial: boolean
  /** It has been taken out of the tree. */
  isGone: boolean
  children: Map<string, TreeNode> | undefined
}

const noStamp: Stamp = { dev: -1, ino: -1, size: -1, mode: -1, mtimeMs: -1, ctimeMs: -1 }

export const stampOf = ({ dev, ino, size, mode, mtimeMs, ctimeMs }: Stats): Stamp => ({
  dev,
  ino,
  size,
  mode,
  mtimeMs,
  ctimeMs,
})

export const sameStamp = (a: Stamp, b: Stamp): boolean =>
  a.ctimeMs === b.ctimeMs &&
  a.ino === b.ino &&
  a.size === b.size &&
  a.mtimeMs === b.mtimeMs &&
  a.mode === b.mode &&
  a.dev === b.dev

/** For a directory that is not entered yet, or for the top of a tree. */
export const newNode = (name: Name, parent: TreeNode | undefined, facts: Facts): TreeNode => ({
  name,
  parent,
  depth: parent === undefined ? 0 : parent.depth + 1,
  facts,
  stamp: noStamp,
  isDoubtful: true,
  isPartial: false,
  isGone: false,
  children: undefined,
})

export const topFacts: Facts = { kind: 'directory', size: null, mode: 0, sha256: null, target: null, kept: false }

// oxlint-disable-next-line no-control-regex
const plainName = /^[\u0000-\u007f]*$/

/** A name as it comes from a listing in latin1. Most are plain, and then a string is quicker than bytes. */
export const nameOf = (key: string): Name => (plainName.test(key) ? key : Buffer.from(key, 'latin1'))

export const keyOf = (name: Name): string => (typeof name === 'string' ? name : name.toString('latin1'))

/** From the top down, the top's own name first. */
export function namesTo(node: TreeNode): readonly Name[] {
  const names: Name[] = []
  for (let at: TreeNode | undefined = node; at !== undefined; at = at.parent) names.push(at.name)
  return names.toReversed()
}

/** One character for each byte: unique, where the shown path of names that are no UTF-8 is not. */
export const pathKeyOf = (node: TreeNode): string => namesTo(node).map(keyOf).join('/')

export function shownPath(pathKey: string): Pick<TreeEntry, 'path' | 'path_base64'> {
  if (plainName.test(pathKey)) return { path: pathKey, path_base64: null }
  const bytes = Buffer.from(pathKey, 'latin1')
  const path = bytes.toString('utf8')
  return { path, path_base64: Buffer.from(path).equals(bytes) ? null : bytes.toString('base64') }
}

export const entryOf = (pathKey: string, facts: Facts): TreeEntry => ({
  ...shownPath(pathKey),
  kind: facts.kind,
  sha256: facts.sha256,
  size: facts.size,
  mode: facts.mode,
  target: facts.target,
  kept: facts.kept,
})

/** Every entry below the top, each directory before what is in it. */
export function* descendants(top: TreeNode): Generator<TreeNode> {
  for (const child of top.children?.values() ?? []) {
    yield child
    yield* descendants(child)
  }
}

/** `path`: below the top, one character for each byte. */
export function findNode(top: TreeNode, path: string): TreeNode | undefined {
  let at: TreeNode | undefined = top
  for (const key of path.split('/')) at = at?.children?.get(key)
  return at
}
