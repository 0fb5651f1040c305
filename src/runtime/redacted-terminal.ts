// A terminal whose values are taken out on the way. Somebody waits for every letter there, so what is held back is shown when
// nothing follows, as long as it tells nothing.
import { Transform, type Readable } from 'node:stream'
import type { Process } from '../contract/backend.ts'
import type { Redaction } from '../contract/redaction.ts'

/** Shorter than what a person notices. */
const quietMs = 20

export const redactedTerminal = (child: Process, redaction: Redaction): Process => ({
  stdin: child.stdin,
  stdout: redactedStream(child.stdout, redaction),
  stderr: child.stderr,
  exit: child.exit,
  kill: () => child.kill(),
  ...(child.resize === undefined ? {} : { resize: (size) => child.resize?.(size) }),
})

function redactedStream(source: Readable, redaction: Redaction): Readable {
  const redactor = redaction.open()
  let quiet: NodeJS.Timeout | undefined
  const passOn = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      clearTimeout(quiet)
      const passed = redactor.push(chunk)
      if (redaction.isActive) quiet = setTimeout(() => give(redactor.idle()), quietMs).unref()
      done(null, passed.length === 0 ? undefined : passed)
    },
    flush(done) {
      clearTimeout(quiet)
      const rest = redactor.end()
      done(null, rest.length === 0 ? undefined : rest)
    },
    destroy(error, done) {
      clearTimeout(quiet)
      source.destroy()
      done(error)
    },
  })
  const give = (bytes: Uint8Array): void => {
    if (bytes.length > 0 && !passOn.writableEnded) passOn.push(bytes)
  }
  // A terminal whose other end is gone breaks instead of ending.
  source.on('error', () => passOn.end())
  source.on('close', () => passOn.end())
  return source.pipe(passOn)
}
