// How much of the disk a directory takes that a guest may be changing meanwhile: walked by descriptor, so that a directory that becomes
// a link on the way leads nowhere. Counts what is allocated, not what files claim to hold.
import { closeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { namesIn } from '../../runs/fork/listing.ts'
import { openView, type DirectoryView } from '../../runs/fork/merged-view.ts'

export interface Size {
  readonly bytes: number
  readonly entries: number
  /** There was more than is worth counting. */
  readonly truncated: boolean
}

const mostEntries = 200_000
const mostDepth = 200
/** Others want to be served too. */
const atATime = 500
const blockBytes = 512n

export async function sizeOf(directory: string): Promise<Size> {
  let bytes = 0n
  let entries = 0
  let truncated = false
  const walk = async (view: DirectoryView, depth: number): Promise<void> => {
    for (const name of namesIn(view)) {
      if (entries >= mostEntries || depth > mostDepth) return void (truncated = true)
      const found = view.find(name)
      if (found === undefined) continue
      try {
        entries += 1
        bytes += found.stats.blocks * blockBytes
        if (entries % atATime === 0) await turn()
        if (found.stats.isDirectory()) await walk(view.enter(found), depth + 1)
      } finally {
        closeSync(found.fd)
      }
    }
  }
  const root = openView([directory])
  try {
    await walk(root, 0)
  } finally {
    root.close()
  }
  return { bytes: Number(bytes), entries, truncated }
}
