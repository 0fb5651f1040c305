// Tells when the processor that it is bound to stood still: it goes before everybody else, sleeps for a moment and looks how much later it is.
// Who wakes late then waited for no program of this machine; a virtual machine's host had taken the processor away. Prints
// a line for each such moment, its begin and its end on the kernel's monotonic clock. Ends with whoever started it.
import { writeSync } from 'node:fs'
import { stdout } from 'node:process'

const [, , leastMs = '0.5', parent = ''] = process.argv
const sleepMs = 1
const word = new Int32Array(new SharedArrayBuffer(4))
const now = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

function tell(line: string): void {
  try {
    writeSync(stdout.fd, line)
  } catch {
    // Whoever listened has just gone.
    process.exit(0)
  }
}

tell('ready\n')
while (process.ppid === Number(parent)) {
  const before = now()
  Atomics.wait(word, 0, 0, sleepMs)
  const after = now()
  if (after - before - sleepMs > Number(leastMs)) tell(`${before} ${after}\n`)
}
