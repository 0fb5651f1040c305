// What the kernel tells of a process, which may have ended meanwhile.
import { readFileSync } from 'node:fs'

/** Undefined: nothing can be read of it. */
export function readIfAlive(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
