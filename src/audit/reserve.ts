// Space that is kept for ends. An intent is written before its effect, so when the disk fills up between the two, the
// effect's outcome must still find room. Without the reserve no new intent is taken.
import { randomBytes } from 'node:crypto'
import { placeFile, removeIfThere, reservePath, sizeOf, type AuditPlace } from './files.ts'

export const reserveBytes = 64 * 1024

/** Throws ENOSPC when there is no room for it. Random, since a filesystem may store zeros in no space at all. */
export function holdReserve(place: AuditPlace): void {
  if (sizeOf(reservePath(place)) !== reserveBytes) placeFile(reservePath(place), randomBytes(reserveBytes))
}

export const giveReserve = (place: AuditPlace): void => removeIfThere(reservePath(place))
