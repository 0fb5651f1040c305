// Whoever goes on after refusals is answered a moment later: if its connections are not read until then, a flood comes as fast as it is
// let, and not as fast as it can. What waits is bounded, in number and in time; answers go out in the order of the refusals.
import type { Socket } from 'node:net'

export interface Hold {
  /** Answers now, or, after many refusals of this caller within a second, a moment later: then it is held. */
  refuse(who: string, socket: Socket, answer: () => void): 'answered' | 'held'
  /** It has been held a short while ago: it does not wait when it is told to. */
  wasHeld(who: string): boolean
  /** It has asked for more on a connection on which it was held. */
  press(who: string): void
  /** It has done so a short while ago: on its other connections there is more to come, too. */
  hasPressed(who: string): boolean
  readonly waiting: number
}

/** So many refusals in a second are answered at once: a caller that is told to wait, and does, is never held. */
const atOnce = 16
const windowMs = 1000
/** As long as Retry-After asks for at least, less what the way there and back may take. Between two answers there is a moment: a crowd that was
 * held is not let go all at once, since it comes back at once. */
const first = { holdMs: 750, paceMs: 2 } as const
/** Of whoever was told so late and asks all the same, or has asked for more meanwhile: what it sends is then a stream, and no wave. */
const again = { holdMs: 3000, paceMs: 5 } as const
/** Beyond so many a connection is closed instead. */
const mostWaiting = 2048
const mostCallers = 1000
/** So long it is remembered that somebody was held. */
const rememberedMs = 10_000

interface Held {
  readonly socket: Socket
  readonly answer: () => void
  readonly dueAt: number
}

export function createHold(now: () => number = () => performance.now()): Hold {
  const refused = new Map<string, { readonly since: number; count: number }>()
  const queue = createQueue(first, now)
  const queueOfPersistent = createQueue(again, now)
  const waiting = (): number => queue.length + queueOfPersistent.length
  const lastHeld = createMemory(now)
  const lastToldLate = createMemory(now)
  const lastPressed = createMemory(now)
  const isPersistent = (who: string): boolean => lastToldLate.has(who) || lastPressed.has(who)

  const countOf = (who: string): number => {
    const known = refused.get(who)
    if (known !== undefined && now() - known.since < windowMs) return (known.count += 1)
    if (refused.size >= mostCallers) refused.clear()
    refused.set(who, { since: now(), count: 1 })
    return 1
  }
  return {
    refuse(who, socket, answer) {
      if (countOf(who) <= atOnce) {
        answer()
        return 'answered'
      }
      lastHeld.note(who)
      if (waiting() >= mostWaiting) socket.destroy()
      else
        (isPersistent(who) ? queueOfPersistent : queue).wait({
          socket,
          answer: () => {
            lastToldLate.note(who)
            answer()
          },
        })
      return 'held'
    },
    wasHeld: lastHeld.has,
    press: lastPressed.note,
    hasPressed: lastPressed.has,
    get waiting() {
      return waiting()
    },
  }
}

interface Queue {
  wait(each: Omit<Held, 'dueAt'>): void
  readonly length: number
}

/** Each waits so long, and is answered in its order. */
function createQueue({ holdMs, paceMs }: typeof first | typeof again, now: () => number): Queue {
  const held: Held[] = []
  let lastDueAt = 0
  let timer: NodeJS.Timeout | undefined

  const release = (): void => {
    timer = undefined
    const at = now()
    const due = held.findIndex(({ dueAt }) => dueAt > at)
    const ready = held.splice(0, due < 0 ? held.length : due)
    for (const { socket, answer } of ready) if (!socket.destroyed) answer()
    schedule()
  }
  const schedule = (): void => {
    const [first] = held
    if (first !== undefined) timer ??= setTimeout(release, Math.max(1, first.dueAt - now())).unref()
  }
  return {
    wait(each) {
      lastDueAt = Math.max(now() + holdMs, lastDueAt + paceMs)
      held.push({ ...each, dueAt: lastDueAt })
      schedule()
    },
    get length() {
      return held.length
    },
  }
}

interface Memory {
  readonly note: (who: string) => void
  readonly has: (who: string) => boolean
}

/** Of so many callers, for so long. */
function createMemory(now: () => number): Memory {
  const lastAt = new Map<string, number>()
  return {
    note(who) {
      // Anew at the end: the first is the one that was noted the longest time ago.
      lastAt.delete(who)
      const [oldest] = lastAt.keys()
      if (oldest !== undefined && lastAt.size >= mostCallers) lastAt.delete(oldest)
      lastAt.set(who, now())
    },
    has: (who) => now() - (lastAt.get(who) ?? Number.NEGATIVE_INFINITY) < rememberedMs,
  }
}
