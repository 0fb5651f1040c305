// The end of a server: it says at once that it is not ready, takes nothing new, lets what runs come to its end within a grace,
// asks the rest to stop, and closes its streams last, so that their readers see the end. Asked again, it does not wait.
import { GloveboxError } from '../../errors/error.ts'

/** Work that outlives its request. */
export interface Running {
  readonly name: string
  count(): number
  /** Begins nothing more, of what it has accepted. */
  hold?(): void
  /** Asks all of it to end, with the reason `drained`, and settles when it has. */
  stop(): Promise<void>
  /** Nobody waits any longer. */
  hurry?(): void
}

export interface Drain {
  readonly isDraining: boolean
  /** Aborted when event streams must end. */
  readonly streams: AbortSignal
  /** An event stream is open, until what this gives is called. */
  enterStream(): () => void
  refusal(): GloveboxError
  /** Settles when nothing runs any more. */
  begin(options: { readonly graceMs: number; readonly running: readonly Running[] }): Promise<void>
  /** Ends the grace. */
  hurry(): void
}

const lookMs = 50
/** For the readers of what has just ended: until they are told, on a busy machine too, and no longer for those who wait for more. */
const lastWordsMs = 2000

export function createDrain(): Drain {
  const streams = new AbortController()
  const hurried = new AbortController()
  let draining: Promise<void> | undefined
  let endsAt = 0
  const open = new Set<symbol>()

  const drain = async (graceMs: number, running: readonly Running[]): Promise<void> => {
    endsAt = performance.now() + graceMs
    for (const each of running) each.hold?.()
    hurried.signal.addEventListener('abort', () => running.forEach((each) => each.hurry?.()))
    const isBusy = (): boolean => running.some((each) => each.count() > 0)
    while (isBusy() && performance.now() < endsAt && !hurried.signal.aborted) await pause(lookMs, hurried.signal)
    await Promise.allSettled(running.map((each) => each.stop()))
    const toldBy = performance.now() + lastWordsMs
    do await pause(lookMs, hurried.signal)
    while (open.size > 0 && performance.now() < toldBy && !hurried.signal.aborted)
    streams.abort()
  }

  return {
    get isDraining() {
      return draining !== undefined
    },
    streams: streams.signal,
    enterStream() {
      const one = Symbol('stream')
      open.add(one)
      return () => void open.delete(one)
    },
    refusal: () =>
      new GloveboxError('DRAINING', 'Cannot take anything new: the server is about to stop', {
        hint: 'Ask another server, or the next one at this address.',
        facts: { retryAfterSeconds: Math.max(1, Math.ceil((endsAt - performance.now()) / 1000)) },
      }),
    begin: ({ graceMs, running }) => (draining ??= drain(graceMs, running)),
    hurry: () => hurried.abort(),
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
