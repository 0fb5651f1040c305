// Room for what commands say while they run. It lies in memory until each has ended and nobody follows it any more, and a token may
// have commands by the thousand, in many sandboxes. What has ended lies on the shelf, which is bounded by itself.
import { GloveboxError } from '../../errors/error.ts'
import { countHeldBytes } from './held-bytes.ts'
import type { SandboxLimits } from './quota.ts'
import { entryBytes } from './shelf.ts'

/** Of one command. */
export interface OutputShare {
  /** How much of so many bytes more may be kept. */
  take(bytes: number): number
  /** These are kept, whether there is room for them or not. */
  hold(bytes: number): void
  /** Nothing of it is kept here any longer. */
  leave(): void
}

export interface OutputRoom {
  /** QUOTA_EXCEEDED where the token has used up what it may have. */
  enter(tokenId: string): OutputShare
  /** Of all tokens. */
  readonly heldBytes: number
}

type RoomLimits = Pick<SandboxLimits, 'outputBytesPerToken' | 'outputBytes'>

export function openOutputRoom({ outputBytesPerToken, outputBytes }: RoomLimits): OutputRoom {
  const held = countHeldBytes()
  /** Whoever has as much as is left for all gets no more: so one alone has half of it at most, and who has nothing finds room. */
  const roomOf = (who: string): number =>
    Math.max(0, Math.min(outputBytesPerToken, outputBytes - held.total) - held.of(who))

  return {
    get heldBytes() {
      return held.total
    },
    enter(who) {
      if (roomOf(who) < entryBytes) throw usedUp(outputBytesPerToken)
      let own = 0
      const hold = (bytes: number): void => {
        own += bytes
        held.change(who, bytes)
      }
      hold(entryBytes)
      return {
        take(bytes) {
          const granted = Math.min(bytes, roomOf(who))
          hold(granted)
          return granted
        },
        hold,
        leave: () => hold(-own),
      }
    },
  }
}

const usedUp = (bytes: number): GloveboxError =>
  new GloveboxError(
    'QUOTA_EXCEEDED',
    `Cannot start the command: what the running ones have said takes up the token's share of at most ${bytes} bytes`,
    {
      hint: 'Wait until some of them have ended, or cancel them.',
      facts: { retryAfterSeconds: 1 },
    },
  )
