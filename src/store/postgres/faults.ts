// What PostgreSQL's codes, and the network's, mean to whoever asked.
import { isInDoubt } from '../../errors/doubt.ts'
import { GloveboxError } from '../../errors/error.ts'
import { textOfError, unavailable } from '../fault.ts'

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** No connection came about, for whatever reason: a name, a network, TLS or a password. With the code and the words of the cause. */
export class NotConnected extends Error {
  readonly code: string

  constructor(cause: unknown) {
    super(textOfError(cause), { cause })
    this.code = codeOf(cause)
  }
}

/** The connection is gone: with it went whatever was not committed. */
const lostCodes = /^(?:08...|57P0[1-5]|ECONNRESET|EPIPE|ECONNREFUSED|ECONNABORTED|ENOENT|EHOSTUNREACH|ENETUNREACH)$/
/** Nobody listens at the port, or at the socket file; or there is no name for the host now, or no way to it. */
const unheardCodes =
  /^(?:ECONNREFUSED|ENOENT|EAI_AGAIN|ENOTFOUND|E(?:HOST|NET)(?:UNREACH|DOWN)|ENETRESET|EADDRNOTAVAIL)$/
/** Of this process or this host, which has too many descriptors open. */
const exhaustedCodes = /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM)$/
const lostTexts =
  /Connection terminated unexpectedly|Connection ended unexpectedly|not queryable|Connection terminated$/

/** After a failover the old primary is read-only; the pool's other connections may lead to the new one. */
const readOnlyCode = '25006'

/** What it says to a write, for who asks without writing. */
export const readOnly = (): Error => Object.assign(new Error('transactions are read-only'), { code: readOnlyCode })

/** Two transactions got in each other's way, and this one gave up wholly. */
const conflictCodes = /^(?:40001|40P01)$/

const slowCodes = /^(?:57014|55P03|25P0[34]|ETIMEDOUT)$/
const slowTexts = /Query read timeout|timeout exceeded when trying to connect|due to connection timeout|timeout expired/

const crowdedCodes = /^(?:53300|53400)$/
const fullCode = '53100'
/** Too little memory, files that it cannot read, pages that are damaged, a fault of its own. */
const brokenCodes = /^(?:53|57|58|F0|XX)...$/

export const isConnectionLost = (error: unknown): boolean =>
  lostCodes.test(codeOf(error)) || unheardCodes.test(codeOf(error)) || lostTexts.test(textOfError(error))

export const isSlow = (error: unknown): boolean => slowCodes.test(codeOf(error)) || slowTexts.test(textOfError(error))

/** Nobody knows what the connection still has in it, so it is not used again. */
export const spoilsConnection = (error: unknown): boolean =>
  isConnectionLost(error) || isSlow(error) || codeOf(error) === readOnlyCode

export const isWorthOneRetry = (error: unknown): boolean =>
  isConnectionLost(error) || codeOf(error) === readOnlyCode || conflictCodes.test(codeOf(error))

/** Counts against the circuit: the server as a whole does not answer. Nor did it to say what became of a commit. */
export const isUnreachable = (error: unknown): boolean => isConnectionLost(error) || isSlow(error) || isInDoubt(error)

export function asStoreError(error: unknown): unknown {
  if (error instanceof GloveboxError) return error
  const code = codeOf(error)
  const again = 'Nothing was written. Try again in a moment.'
  if (isSlow(error)) return unavailable('it did not answer in time', { hint: again, error })
  if (code === readOnlyCode) return unavailable('it is read-only', { hint: again, error })
  // Nothing was lost: there was no connection yet.
  if (unheardCodes.test(code))
    return unavailable('it cannot be reached', {
      hint: 'Nothing was written. Try again in a moment; if it stays so, the operator must look whether the server that DATABASE_URL names runs.',
      error,
    })
  if (isConnectionLost(error)) return unavailable('the connection was lost', { hint: again, error })
  if (crowdedCodes.test(code)) return unavailable('it has too many connections', { hint: again, error })
  if (exhaustedCodes.test(code))
    return unavailable('this host has no more descriptors or memory for a connection', { hint: again, error })
  if (conflictCodes.test(code)) return unavailable('others were writing the same', { hint: again, error })
  if (code === fullCode)
    return new GloveboxError('NO_SPACE', 'Cannot write to the database: its disk is full', {
      hint: 'The operator must free some space; nothing that was answered is lost.',
      operatorDetail: textOfError(error),
    })
  if (brokenCodes.test(code))
    return unavailable('it is out of order', {
      hint: 'Nothing was written. The operator must look at the log of PostgreSQL.',
      error,
    })
  // Whatever else keeps a connection from coming about: the URL itself, its user, password or database, or TLS.
  if (error instanceof NotConnected)
    return unavailable('it cannot be reached with this URL', {
      hint: 'The operator must look at DATABASE_URL: its user, password and database, and whether TLS is asked for.',
      error,
    })
  return error
}
