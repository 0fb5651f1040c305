// Hides host paths in what a command prints, while it prints: a host path that a chunk boundary cuts in two is found
// all the same. Paths in another spelling (JSON escapes such as `\/`, percent-encoding, base64) are not recognised.
import { Transform } from 'node:stream'
import { startsInOutput } from './edges.ts'
import { openReplacer, type Replacement } from './replacer.ts'

export function createMaskStream(hostToGuest: readonly Replacement[]): Transform {
  const replacer = openReplacer(hostToGuest, startsInOutput)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const masked = replacer.push(chunk)
      done(null, masked.length === 0 ? undefined : masked)
    },
    flush(done) {
      const rest = replacer.end()
      done(null, rest.length === 0 ? undefined : rest)
    },
  })
}
