// Whether a process has children, as the kernel lists them.
import { closeSync, openSync, readSync } from 'node:fs'

export interface Children {
  isAny(pid: number): boolean
  close(): void
}

const oneByte = Buffer.alloc(1)

/** Of one process. Everything in a pid namespace descends from its first one, and an orphan becomes its child. The list is kept open: finding
 * it takes the kernel longer than writing it, and it is asked for behind every command. */
export function watchChildren(): Children {
  let list: number | undefined
  let isClosed = false
  return {
    isAny(pid) {
      // Without a list it is gone itself, and what it left behind is not known.
      if (isClosed) return true
      try {
        list ??= openSync(`/proc/${pid}/task/${pid}/children`, 'r')
        if (readSync(list, oneByte, 0, 1, 0) > 0) return true
        // The list of one that is gone is empty.
        process.kill(pid, 0)
        return false
      } catch {
        return true
      }
    },
    close() {
      isClosed = true
      if (list !== undefined) closeSync(list)
      list = undefined
    },
  }
}
