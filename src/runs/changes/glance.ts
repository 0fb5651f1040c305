// The quick half of a look: which known entries are not what they were. By path, which is twice as quick as by descriptor.
// SECURITY: only "this very inode has not changed since" is believed of what is found here, and that is true wherever a
// swapped link leads to; nothing is opened, and everything else is found out again by descriptor.
// src/runs/changes/watch: "a directory that was swapped for a link is a link, and nothing behind it is read"
import { lstatSync, type Stats } from 'node:fs'
import type { Breath } from './breath.ts'
import { sameStamp, type TreeNode } from './tree.ts'

/** Under each directory, those of its entries that are to be examined. A directory stands before what is in it. */
export type Suspects = ReadonlyMap<TreeNode, readonly TreeNode[]>

const quietly = { throwIfNoEntry: false } as const

export async function glance(top: TreeNode, hostPath: string, breath: Breath): Promise<Suspects> {
  const suspects = new Map<TreeNode, TreeNode[]>()
  if (!isAsBefore(top, statsOf(hostPath))) suspects.set(top, [])
  // Paths as latin1 text would not reach names that are no ASCII; such a path is given as bytes.
  const open: (readonly [TreeNode, string | Buffer])[] = [[top, `${hostPath}/`]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [directory, prefix] = next
    const found: TreeNode[] = []
    for (const child of directory.children?.values() ?? []) {
      const path = below(prefix, child)
      const stats = statsOf(path)
      if (!isAsBefore(child, stats)) found.push(child)
      if (child.children !== undefined && stats?.isDirectory() === true) open.push([child, below(path, '/')])
      const pause = breath.take()
      if (pause !== undefined) await pause
    }
    if (found.length > 0) suspects.set(directory, found)
  }
  return suspects
}

const isAsBefore = (node: TreeNode, stats: Stats | undefined): boolean =>
  stats !== undefined && sameStamp(node.stamp, stats) && !node.isDoubtful && !node.isPartial

function below(prefix: string | Buffer, next: TreeNode | string): string | Buffer {
  const name = typeof next === 'string' ? next : next.name
  if (typeof prefix === 'string' && typeof name === 'string') return prefix + name
  return Buffer.concat([Buffer.from(prefix), Buffer.from(name)])
}

/** Undefined also where the path is too long or a directory on the way is closed: by descriptor it may be reached. */
function statsOf(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, quietly)
  } catch {
    return undefined
  }
}
