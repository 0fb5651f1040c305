// Whoever goes on after refusals is answered a moment later, and until then its connection is not read: a flood then comes as fast
// as it is let, and not as fast as it can. What waits is bounded, in number and in time; answers go out in the order of the refusals.
import type { Socket } from 'node:net'

export interface Hold {
  /** Answers now, or, after many refusals of this caller within a second, a moment later. */
  refuse(who: string, socket: Socket, answer: () => void): void
  /** Whose refusal this connection waits with. What comes on it until then can only be answered behind that, and need not be looked at. */
  holderOf(socket: Socket): string | undefined
  /** It has been held a short while ago: it does not wait when it is told to. */
  wasHeld(who: string): boolean
  readonly waiting: number
}

/** So many refusals in a second are answered at once: a caller that is told to wait, and does, is never held. */
const atOnce = 16
const windowMs = 1000
/** As long as Retry-After asks for at least, less what the way there and back may take. */
const holdMs = 750
/** Between two answers: a crowd that was held is not let go all at once. */
const paceMs = 1
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
  const held: Held[] = []
  const lastHeldAt = new Map<string, number>()
  const holders = new Map<Socket, { readonly who: string; answers: number }>()
  let lastDueAt = 0
  let timer: NodeJS.Timeout | undefined

  const countOf = (who: string): number => {
    const known = refused.get(who)
    if (known !== undefined && now() - known.since < windowMs) return (known.count += 1)
    if (refused.size >= mostCallers) refused.clear()
    refused.set(who, { since: now(), count: 1 })
    return 1
  }
  const remember = (who: string): void => {
    // Anew at the end: the first is the one that was held the longest time ago.
    lastHeldAt.delete(who)
    const [oldest] = lastHeldAt.keys()
    if (oldest !== undefined && lastHeldAt.size >= mostCallers) lastHeldAt.delete(oldest)
    lastHeldAt.set(who, now())
  }
  const letGo = (socket: Socket): void => {
    const holder = holders.get(socket)
    if (holder === undefined || --holder.answers > 0) return
    holders.delete(socket)
    socket.resume()
  }
  const release = (): void => {
    timer = undefined
    const at = now()
    const due = held.findIndex(({ dueAt }) => dueAt > at)
    const ready = held.splice(0, due < 0 ? held.length : due)
    for (const { socket, answer } of ready) {
      letGo(socket)
      if (!socket.destroyed) answer()
    }
    schedule()
  }
  const schedule = (): void => {
    const [first] = held
    if (first !== undefined) timer ??= setTimeout(release, Math.max(1, first.dueAt - now())).unref()
  }
  return {
    refuse(who, socket, answer) {
      if (countOf(who) <= atOnce) return answer()
      remember(who)
      if (held.length >= mostWaiting) return void socket.destroy()
      lastDueAt = Math.max(now() + holdMs, lastDueAt + paceMs)
      held.push({ socket, answer, dueAt: lastDueAt })
      const holder = holders.get(socket) ?? { who, answers: 0 }
      holder.answers += 1
      holders.set(socket, holder)
      socket.pause()
      schedule()
    },
    wasHeld: (who) => now() - (lastHeldAt.get(who) ?? Number.NEGATIVE_INFINITY) < rememberedMs,
    holderOf: (socket) => holders.get(socket)?.who,
    get waiting() {
      return held.length
    },
  }
}
