// A daemon that hangs costs each question its whole deadline. So when something has waited for it for some seconds, the daemon is looked
// at, by one look for all who wait. If that is not answered either, the circuit is open: what would begin something is refused at once
// until a look is answered, and one look follows the other until then. What is merely slow never opens it.
import { inTime, late } from '../../process/in-time.ts'

export const away = Symbol('away')

/** `nothing`: no look could be taken, or it says nothing about the daemon. */
export type Seen = 'answer' | 'silence' | 'nothing'

export interface CircuitOptions {
  /** Has a deadline of its own. */
  readonly look: () => Promise<Seen>
  readonly patienceMs?: number
  /** From one look to the next, at least. */
  readonly pauseMs?: number
  readonly now?: () => number
}

export interface Circuit {
  isOpen(): boolean
  /** 0 while it is open; Infinity where it never was. */
  closedForMs(): number
  /** Looks at the daemon while this takes long. */
  attend(work: Promise<unknown>): void
  /** Something went unanswered that nobody waits for any more. */
  suspect(): void
  /** Not begun while it is open; and when it opens, nobody waits any longer for what was begun, which is left alone. */
  unlessAway<T>(begin: () => Promise<T>): Promise<T | typeof away>
  /** No more looks. */
  close(): void
}

export function openCircuit(options: CircuitOptions): Circuit {
  const { look, patienceMs = 5000, pauseMs = 2000, now = () => performance.now() } = options
  const waiting = new Set<() => void>()
  let isOpen = false
  let isOver = false
  let closedAt = -Infinity
  let looking: Promise<void> | undefined
  let isLookingOn = false

  const lookOnce = (): Promise<void> => {
    looking ??= takeLook().finally(() => {
      looking = undefined
      void lookOn()
    })
    return looking
  }
  const takeLook = async (): Promise<void> => {
    const seen = await look().catch((): Seen => 'nothing')
    if (isOver || seen === 'nothing' || isOpen === (seen === 'silence')) return
    isOpen = seen === 'silence'
    if (isOpen) for (const tell of waiting) tell()
    else closedAt = now()
  }
  const lookOn = async (): Promise<void> => {
    if (isLookingOn) return
    isLookingOn = true
    // A look that is under way when the daemon goes on is answered then, so that the pause is only for those that end at once.
    while (isOpen && !isOver) await Promise.all([lookOnce(), pause(pauseMs)])
    isLookingOn = false
  }
  const attend = async (work: Promise<unknown>): Promise<void> => {
    const settled = work.then(
      () => {},
      () => {},
    )
    while ((await inTime(settled, patienceMs)) === late && !isOver) await lookOnce()
  }
  return {
    isOpen: () => isOpen,
    closedForMs: () => (isOpen ? 0 : now() - closedAt),
    attend: (work) => void attend(work),
    suspect: () => void (isOver ? undefined : lookOnce()),
    async unlessAway(begin) {
      if (isOpen) return away
      const work = begin()
      void attend(work)
      let tell = (): void => {}
      const opened = new Promise<typeof away>((resolve) => (tell = () => resolve(away)))
      waiting.add(tell)
      try {
        return await Promise.race([work, opened])
      } finally {
        waiting.delete(tell)
      }
    },
    close: () => void (isOver = true),
  }
}

/** Nobody is kept alive by it. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref())
