// Named places at which a test may end, delay or fail the process. Without `GLOVEBOX_FAILPOINTS` they do nothing; the
// variable is read in runtime/ and handed in as a function, so this room never looks at the environment.
import { GloveboxError } from '../errors/error.ts'

export const failpointNames = [
  'run.create.beforePublish',
  'run.create.afterPublish',
  'run.append.beforeWrite',
  'run.append.afterWrite',
  'run.append.afterSync',
  'run.persist.beforeRename',
  'run.persist.afterRename',
  'run.end.beforeManifest',
  'run.end.beforeEvent',
  'run.end.afterEvent',
  'run.recover.beforeTruncate',
  'run.recover.afterTruncate',
] as const
export type FailpointName = (typeof failpointNames)[number]

/** Returns, throws a system error, or does not return at all. */
export type Failpoint = (name: FailpointName) => void

export const noFailpoint: Failpoint = () => {}

/** `name=kill`, `name=kill:7` for the seventh time, `name=error:EIO`, `name=sleep:500`, several separated by commas. */
export function parseFailpoints(text: string): Failpoint {
  const effects = new Map(
    text
      .split(',')
      .filter((part) => part !== '')
      .map((part) => parseOne(part)),
  )
  return (name) => effects.get(name)?.()
}

function parseOne(part: string): [string, () => void] {
  const [name = '', effect = ''] = part.split('=')
  const [verb, value = ''] = effect.split(':')
  if (!(failpointNames as readonly string[]).includes(name)) throw unknown(`no failpoint is called "${name}"`)
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
