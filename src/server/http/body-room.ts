// Room for the bodies of requests. Each lies in memory until its request is answered, which may take as long as a command runs, and a
// caller may have hundreds of requests on their way; the input of a command in the background lies there for longer. What is small counts
// for nothing; the number of requests bounds it.
import { GloveboxError } from '../../errors/error.ts'
import { countHeldBytes } from '../../runtime/server/held-bytes.ts'
import type { Limits } from './limits.ts'

const smallBytes = 64 * 1024

/** Of one body. */
export interface BodyShare {
  /** So much of it is there, or will be. A refusal is not thrown, and holds nothing more. */
  hold(bytes: number): GloveboxError | undefined
  /** What was begun with it goes on behind the answer, and has it until then. */
  keepUntil(over: Promise<unknown>): void
  /** The request is answered. */
  leave(): void
}

export interface BodyRoom {
  enter(who: string): BodyShare
}

export function createBodyRoom({
  bodyBytes,
  bodyBytesPerToken,
}: Pick<Limits, 'bodyBytes' | 'bodyBytesPerToken'>): BodyRoom {
  const all = countHeldBytes()
  return {
    enter(who) {
      let held = 0
      let isAnswered = false
      let users = 1
      const letGo = (): void => {
        users -= 1
        if (users > 0 || held === 0) return
        all.change(who, -held)
        held = 0
      }
      return {
        hold(bytes) {
          const more = bytes > smallBytes ? bytes - held : 0
          if (more <= 0) return undefined
          if (all.of(who) + more > bodyBytesPerToken) return noRoom('the token', bodyBytesPerToken)
          if (all.total + more > bodyBytes) return noRoom('the server', bodyBytes)
          held += more
          all.change(who, more)
          return undefined
        },
        keepUntil(over) {
          users += 1
          over.then(letGo, letGo)
        },
        leave() {
          if (!isAnswered) letGo()
          isAnswered = true
        },
      }
    },
  }
}

const noRoom = (whose: string, bytes: number): GloveboxError =>
  new GloveboxError(
    'TOO_MANY_REQUESTS',
    `Cannot read the body: with it, ${whose} would have bodies of more than ${bytes} bytes that are still needed`,
    { hint: 'Wait as long as Retry-After says, or send less at a time.', facts: { retryAfterSeconds: 1 } },
  )
