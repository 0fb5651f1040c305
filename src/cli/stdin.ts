// What the command reads. A terminal is not handed on: the command gets end of file instead of waiting for keys.
import { fstatSync } from 'node:fs'

export type Input = AsyncIterable<Uint8Array> | undefined

export function pipedInput(): Input {
  return isPiped() ? process.stdin : undefined
}

/** A character device is a terminal, or /dev/null and the like; a closed descriptor has nothing to give. */
function isPiped(): boolean {
  try {
    const stats = fstatSync(0)
    return stats.isFIFO() || stats.isFile() || stats.isSocket()
  } catch {
    return false
  }
}
