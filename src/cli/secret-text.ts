// A secret as a person asks for it: VAULT/NAME for a variable of that name, VAULT/NAME=VARIABLE for another one, and
// VAULT/NAME:file or VAULT/NAME:file=FILE for a file below /run/secrets.
import type { SecretUse } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'

const form = /^([^=:]+)(?::(file))?(?:=(.*))?$/s

export function parseSecretText(text: string): SecretUse {
  const [, name = '', file, as] = form.exec(text) ?? []
  const [vault = '', secret = '', ...more] = name.split('/')
  if (vault === '' || secret === '' || more.length > 0) throw refuse(text, 'it is not a vault and a name')
  if (as === '') throw refuse(text, `nothing follows the "="`)
  if (file !== undefined) return { name, file: as ?? secret }
  return as === undefined ? name : { name, env: as }
}

export const collectSecret = (text: string, before: readonly SecretUse[] = []): readonly SecretUse[] => [
  ...before,
  parseSecretText(text),
]

/** Whoever asks on the command line is the operator, and grants what he asks for. */
export const namesOf = (uses: readonly SecretUse[]): string[] => [
  ...new Set(uses.map((use) => (typeof use === 'string' ? use : use.name))),
]

const refuse = (text: string, cause: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot read --secret: "${text}": ${cause}.`, {
    hint: 'Write --secret keys/token=API_TOKEN for a variable, or --secret keys/token:file for the file /run/secrets/token.',
  })
