// The one error that a store answers with when the database and not the request is at fault. What the engine said may name
// hosts and paths, so only the operator reads it.
import { GloveboxError } from '../errors/error.ts'

export const textOfError = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const unavailable = (
  cause: string,
  details: { readonly hint: string; readonly error?: unknown; readonly facts?: GloveboxError['facts'] },
): GloveboxError =>
  new GloveboxError('STORE_UNAVAILABLE', `Cannot use the database: ${cause}`, {
    hint: details.hint,
    ...(details.facts === undefined ? {} : { facts: details.facts }),
    ...(details.error === undefined ? {} : { operatorDetail: textOfError(details.error), cause: details.error }),
  })
