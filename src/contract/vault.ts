// A vault holds secrets by name. The guest sees the names; a value reaches one command, when policy grants it, and nothing
// that is kept. `keys/token` is the secret `token` of the vault `keys`, which stands at /vaults/keys.

/** Where the values come from. They are fetched when a command is to have them, and never before. */
export type VaultSource =
  /** Each regular file is a secret under its own name. */
  | { readonly directory: string }
  /** Names of the operator's own environment; each is a secret under that name. */
  | { readonly environment: readonly string[] }
  /** By the secret's name: a program of the operator's, word by word, that prints the value. It runs on the host. */
  | { readonly command: Readonly<Record<string, readonly [string, ...string[]]>> }

export type VaultSourceKind = 'directory' | 'environment' | 'command'

/** What a command is to get of a secret. The name alone: a variable of the secret's own name. */
export type SecretUse =
  | string
  | { readonly name: string; readonly env: string }
  /** A file below /run/secrets, readable by the command. */
  | { readonly name: string; readonly file: string }

/** Values on their way into one command. */
export interface SpawnSecrets {
  readonly env: Readonly<Record<string, string>>
  readonly files: readonly SecretFile[]
}

export interface SecretFile {
  /** A plain name; the file is /run/secrets/<name>. */
  readonly name: string
  readonly bytes: Uint8Array
}

export const secretsDirectory = '/run/secrets'

/** Names only. */
export interface DescribedVault {
  readonly name: string
  readonly guestPath: string
  readonly source: VaultSourceKind
  readonly secrets: readonly DescribedSecret[]
}

export interface DescribedSecret {
  readonly name: string
  /** Does policy let a command have it? */
  readonly granted: boolean
}
