// What every kind of vault offers: its names at any time, and a value when it is needed.
import type { VaultSourceKind } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'

/** A variable takes 128 KiB with its name; a key takes a few. */
export const mostBytes = 64 * 1024

export interface AskedValue {
  readonly secret: string
  /** With its vault, for messages. */
  readonly name: string
  readonly signal?: AbortSignal | undefined
}

export interface Source {
  readonly kind: VaultSourceKind
  names(): readonly string[]
  read(asked: AskedValue): Promise<Uint8Array>
  close?(): void
}

/** `detail` is for the operator alone. */
export const unavailable = (name: string, cause: string, detail?: Error | string): GloveboxError =>
  new GloveboxError('SECRET_UNAVAILABLE', `Cannot hand over ${name}: ${cause}`, {
    hint: 'Nothing has run. The operator of the vault has to mend its source.',
    ...(detail === undefined ? {} : { operatorDetail: typeof detail === 'string' ? detail : detail.message }),
  })
