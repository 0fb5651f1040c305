// Idempotency keys are kept for a week. They are looked through every hour and not at a start: a clock that is wrong when the machine comes
// up is put right within minutes, and a key that was forgotten too early would let a repeated request make a second thing.
import type { IdempotencyTable } from '../../contract/idempotency.ts'

export interface KeyPurgeOptions {
  readonly onFault: (error: unknown, about: string) => void
  readonly everyMs?: number
  readonly now?: () => number
}

/** A request is not sent again after so long; its key may then mean another one. */
export const keptDays = 7
const keptMs = keptDays * 24 * 60 * 60_000
const hourMs = 60 * 60_000

export function purgeKeys(
  table: Pick<IdempotencyTable, 'purge'>,
  { onFault, everyMs = hourMs, now = Date.now }: KeyPurgeOptions,
): { readonly close: () => void } {
  const purge = (): void => {
    const than = new Date(now() - keptMs).toISOString()
    table.purge({ than }).catch((error: unknown) => onFault(error, 'old idempotency keys could not be forgotten'))
  }
  const timer = setInterval(purge, everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
