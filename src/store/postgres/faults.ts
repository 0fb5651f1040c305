// What PostgreSQL's codes, and the network's, mean to whoever asked.
import { GloveboxError } from '../../errors/error.ts'
import { textOfError, unavailable } from '../fault.ts'

/** The connection is gone: with it went whatever was not committed. */
const lostCodes = new Set(['57P01', '57P02', '57P03', 'ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ECONNABORTED', 'ENOENT'])
const lostTexts =
  /Connection terminated unexpectedly|Connection ended unexpectedly|not queryable|Connection terminated$/

/** After a failover the old primary is read-only; the pool's other connections may lead to the new one. */
const readOnlyCode = '25006'

/** Two transactions got in each other's way, and this one gave up wholly. */
const conflictCodes = new Set(['40001', '40P01'])

const slowCodes = new Set(['57014', '55P03', '25P03', 'ETIMEDOUT'])
const slowTexts = /Query read timeout|timeout exceeded when trying to connect|due to connection timeout|timeout expired/

const crowdedCodes = new Set(['53300', '53400'])
const fullCodes = new Set(['53100'])

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

export const isConnectionLost = (error: unknown): boolean =>
  lostCodes.has(codeOf(error)) || codeOf(error).startsWith('08') || lostTexts.test(textOfError(error))

export const isSlow = (error: unknown): boolean => slowCodes.has(codeOf(error)) || slowTexts.test(textOfError(error))

/** Nobody knows what the connection still has in it, so it is not used again. */
export const spoilsConnection = (error: unknown): boolean =>
  isConnectionLost(error) || isSlow(error) || codeOf(error) === readOnlyCode

export const isWorthOneRetry = (error: unknown): boolean =>
  isConnectionLost(error) || codeOf(error) === readOnlyCode || conflictCodes.has(codeOf(error))

/** Counts against the circuit: the server as a whole does not answer. */
export const isUnreachable = (error: unknown): boolean => isConnectionLost(error) || isSlow(error)

export function asStoreError(error: unknown): unknown {
  if (error instanceof GloveboxError) return error
  const again = 'Nothing was written. Try again in a moment.'
  if (isSlow(error)) return unavailable('it did not answer in time', { hint: again, error })
  if (codeOf(error) === readOnlyCode) return unavailable('it is read-only', { hint: again, error })
  if (isConnectionLost(error)) return unavailable('the connection was lost', { hint: again, error })
  if (crowdedCodes.has(codeOf(error))) return unavailable('it has too many connections', { hint: again, error })
  if (conflictCodes.has(codeOf(error))) return unavailable('others were writing the same', { hint: again, error })
  if (fullCodes.has(codeOf(error)))
    return new GloveboxError('NO_SPACE', 'Cannot write to the database: its disk is full', {
      hint: 'The operator must free some space; nothing that was answered is lost.',
      operatorDetail: textOfError(error),
    })
  // Wrong password, no such database, no such host: 28xxx, 3Dxxx, ENOTFOUND.
  if (/^(?:28|3D)|^E[A-Z]+$/.test(codeOf(error)))
    return unavailable('it cannot be reached with this URL', { hint: 'The operator must look at DATABASE_URL.', error })
  return error
}
