// How secrets are called: `vault/name`, always whole, so that a vault that comes or goes never changes what a name means.
import type { SecretUse } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'

const vaultForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const secretForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
const variableForm = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

export const isVaultName = (name: string): boolean => vaultForm.test(name)
export const isSecretName = (name: string): boolean => secretForm.test(name)

export interface AskedSecret {
  /** With its vault. */
  readonly name: string
  readonly vault: string
  readonly secret: string
  readonly as: { readonly env: string } | { readonly file: string }
}

export function readUse(use: SecretUse): AskedSecret {
  const asked = typeof use === 'string' ? { name: use } : use
  if (typeof asked !== 'object' || asked === null || typeof asked.name !== 'string') throw badUse(use)
  const { name } = asked
  const [vault = '', secret = '', ...more] = name.split('/')
  if (more.length > 0 || !isVaultName(vault) || !isSecretName(secret))
    throw invalid(name, 'it is not the name of a secret', 'Write the vault and the name, for example keys/token.')
  if ('file' in asked && 'env' in asked) throw invalid(name, 'it is asked for as a variable and as a file', once)
  if ('file' in asked) {
    if (typeof asked.file !== 'string' || !isSecretName(asked.file))
      throw invalid(name, 'the name of its file is not a plain one', 'The file lies below /run/secrets; name no path.')
    return { name, vault, secret, as: { file: asked.file } }
  }
  // Whoever comes without a schema may say anything.
  const env: unknown = 'env' in asked ? asked.env : secret
  if (typeof env !== 'string') throw invalid(name, 'the name of its variable is no text', variableHint(name))
  if (!variableForm.test(env))
    throw invalid(name, `"${env.slice(0, 128)}" cannot be the name of a variable`, variableHint(name))
  return { name, vault, secret, as: { env } }
}

const once = 'Ask for it twice, once as each.'
const variableHint = (name: string): string => `Say which variable is to have it, for example ${name}=API_TOKEN.`

const badUse = (use: unknown): GloveboxError =>
  invalid(
    String(use).slice(0, 64),
    'it is neither a name nor an object with one',
    'For example: secrets: ["keys/token"].',
  )

const invalid = (name: string, cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot hand over ${JSON.stringify(name)}: ${cause}`, { hint })
