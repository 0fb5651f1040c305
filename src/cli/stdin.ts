// What the command reads. A terminal is not handed on: the command gets end of file instead of waiting for keys.
import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

export type Input = AsyncIterable<Uint8Array> | undefined

export function pipedInput(): Input {
  if (isatty(0) || !isPiped()) return undefined
  return process.stdin
}

/** A character device that is no terminal is /dev/null or the like; a closed descriptor has nothing to give. */
function isPiped(): boolean {
  try {
    const stats = fstatSync(0)
    return stats.isFIFO() || stats.isFile() || stats.isSocket()
  } catch {
    return false
  }
}
