// Space that is kept back on the disk of the log. An intent is written before its effect, so when the disk fills up between the two, the
// effect's outcome must still find room; and whoever wants to delete, so that there is room again, must find some for both. Without all of
// it no other intent is taken.
import { isNoSpace, keptSpace, pageBytes } from '../paths/kept-space.ts'
import { reservePath, type AuditPlace } from './files.ts'

/** So much must stay for the ends of what has begun. */
export const endsBytes = 64 * 1024
/** And this is there for some hundred deletions. */
export const reserveBytes = endsBytes + 256 * 1024

export interface Reserve {
  /** Throws ENOSPC where so much is not held, and there is no room for it either. */
  require(bytes: number): void
  /** Takes what room there is, until it is whole. */
  renew(): void
  /**
   * Lets go of a page, and leaves so much. False: it does not. Of what is there for deletions nobody is given more than is left of it: so
   * nobody has all, and who has had nothing finds some.
   */
  give(leaves: number, actor: string): boolean
}

export function openReserve(place: AuditPlace): Reserve {
  const space = keptSpace(reservePath(place), reserveBytes)
  const hadBy = new Map<string, number>()
  const grow = (): void => {
    space.grow()
    hadBy.clear()
  }
  return {
    require(bytes) {
      if (space.size() >= bytes) return
      try {
        grow()
      } catch (error) {
        if (!isNoSpace(error) || space.size() < bytes) throw error
      }
    },
    renew() {
      try {
        if (space.size() < reserveBytes) grow()
      } catch {
        // Nobody needs it now. Whoever does is told why it is not there.
      }
    },
    give(leaves, actor) {
      if (leaves === 0) return space.give(0)
      const had = hadBy.get(actor) ?? 0
      if (had >= space.size() - leaves || !space.give(leaves)) return false
      hadBy.set(actor, had + pageBytes)
      return true
    },
  }
}
