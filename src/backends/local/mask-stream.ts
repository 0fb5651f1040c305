// Hides host paths in what a command prints, while it prints: a host path that a chunk boundary cuts in two is found
// all the same. Paths in another spelling (JSON escapes such as `\/`, percent-encoding, base64) are not recognised.
import { Transform } from 'node:stream'
import { startsInOutput } from './edges.ts'
import { openReplacer, type Replacement } from './replacer.ts'

export interface MaskOptions {
  /** What could be the beginning of a path is held back no longer than this: whoever types a slash wants to see it. Absent: until
   * it is known. */
  readonly patienceMs?: number
}

export function createMaskStream(hostToGuest: readonly Replacement[], { patienceMs }: MaskOptions = {}): Transform {
  const replacer = openReplacer(hostToGuest, startsInOutput)
  let timer: NodeJS.Timeout | undefined
  const mask = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      clearTimeout(timer)
      const masked = replacer.push(chunk)
      if (patienceMs !== undefined) timer = setTimeout(() => mask.push(replacer.end()), patienceMs)
      done(null, masked.length === 0 ? undefined : masked)
    },
    flush(done) {
      clearTimeout(timer)
      const rest = replacer.end()
      done(null, rest.length === 0 ? undefined : rest)
    },
    destroy(error, done) {
      clearTimeout(timer)
      done(error)
    },
  })
  return mask
}
