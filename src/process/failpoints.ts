// What happens to a process at a place that a test has named: it ends, waits or fails there. Which places there are, the rooms say that
// have them.
import { GloveboxError } from '../errors/error.ts'

/** `name=kill`, `name=kill:7` for the seventh time, `name=error:EIO`, `name=sleep:500`, several separated by commas. */
export function parseFailpointsOf<Name extends string>(names: readonly Name[], text: string): (name: Name) => void {
  const effects = new Map(
    text
      .split(',')
      .filter((part) => part !== '')
      .map((part) => parseOne(names, part)),
  )
  return (name) => effects.get(name)?.()
}

function parseOne(names: readonly string[], part: string): [string, () => void] {
  const [name = '', effect = ''] = part.split('=')
  const [verb, value = ''] = effect.split(':')
  if (!names.includes(name)) throw unknown(`no failpoint is called "${name}"`)
  if (verb === 'kill' && /^\d{0,6}$/.test(value)) return [name, killAt(Number(value || 1))]
  if (verb === 'error' && /^E[A-Z0-9]+$/.test(value)) return [name, () => fail(value)]
  if (verb === 'sleep' && /^\d{1,6}$/.test(value)) return [name, () => sleep(Number(value))]
  throw unknown(`"${effect}" is neither kill, kill:TIME, error:CODE nor sleep:MILLISECONDS`)
}

function killAt(time: number): () => void {
  let count = 0
  return () => {
    if (++count === time) process.kill(process.pid, 'SIGKILL')
  }
}

function fail(code: string): never {
  throw Object.assign(new Error(`${code}: injected by a failpoint`), { code, syscall: 'failpoint' })
}

/** Holds the whole thread, as a slow disk would. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

const unknown = (cause: string): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', `Cannot use the failpoints: ${cause}`)
