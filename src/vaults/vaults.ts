// Named secrets: where their values come from, which of them a command may have, and how they are kept out of all that is shown
// and kept. It promises that a value is fetched only for a command that policy grants it to, that it is known to the redaction
// before it leaves, and that nothing is handed over unless everything that was asked for is. It must not know how a
// sandbox is made, nor who asks.
import type { DescribedVault, SecretFile, SecretUse, SpawnSecrets, VaultSource } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'
import type { Spawner } from '../process/spawn.ts'
import { commandSource } from './command.ts'
import { directorySource } from './directory.ts'
import { environmentSource, type OperatorEnvironment } from './environment.ts'
import { isSecretName, isVaultName, readUse, type AskedSecret } from './names.ts'
import { leastBytes, withoutTrailingBreaks } from './redaction/forms.ts'
import type { LearningRedaction } from './redaction/redaction.ts'
import { unavailable, type AskedValue, type Source } from './source.ts'

export interface Vault {
  readonly name: string
  readonly source: Source
}

export interface VaultParts {
  readonly operatorEnv: OperatorEnvironment
  readonly spawner: () => Spawner
}

export const vaultGuestPath = (name: string): string => `/vaults/${name}`

export function openVault(name: string, source: VaultSource, parts: VaultParts): Vault {
  if (!isVaultName(name)) throw refused(name, 'its name is not one of letters, digits, "_", "." and "-"')
  return { name, source: openSource(name, source, parts) }
}

function openSource(vault: string, source: VaultSource, parts: VaultParts): Source {
  const kinds = ['directory', 'environment', 'command'].filter((kind) => Object.hasOwn(source, kind))
  if (kinds.length !== 1) throw refused(vault, 'it needs one source: a directory, names of variables, or commands')
  if ('directory' in source) return directorySource(source.directory, vault)
  const names = 'environment' in source ? source.environment : Object.keys(source.command)
  const bad = names.find((each) => !isSecretName(each))
  if (bad !== undefined) throw refused(vault, `${JSON.stringify(bad.slice(0, 64))} cannot be the name of a secret`)
  if ('environment' in source) return environmentSource(source.environment, parts.operatorEnv)
  const empty = Object.values(source.command).find(([file]) => typeof file !== 'string' || !file.startsWith('/'))
  // A name would be looked for in a PATH that a project can add to.
  if (empty !== undefined) throw refused(vault, 'a program is not named by its whole path, from "/" on')
  return commandSource(source.command, parts)
}

const refused = (vault: string, cause: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot use the vault ${JSON.stringify(vault.slice(0, 64))}: ${cause}`, {
    hint: 'See docs/vaults.md.',
  })

export function describeVaults(vaults: readonly Vault[], granted: readonly string[]): readonly DescribedVault[] {
  const isGranted = new Set(granted)
  return vaults.map(({ name, source }) => ({
    name,
    guestPath: vaultGuestPath(name),
    source: source.kind,
    secrets: namesOf(source).map((secret) => ({ name: secret, granted: isGranted.has(`${name}/${secret}`) })),
  }))
}

/** A directory that has gone has no names; whoever asks for a value is told. */
function namesOf(source: Source): readonly string[] {
  try {
    return source.names()
  } catch {
    return []
  }
}

export interface HandoverParts {
  readonly vaults: readonly Vault[]
  readonly redaction: LearningRedaction
  /** Throws where policy does not grant every one of these. */
  readonly requireGranted: (names: readonly string[]) => void
  /** Variables that the command has already. */
  readonly taken: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** All that was asked for, or an error and nothing. */
export async function handOver(uses: readonly SecretUse[], parts: HandoverParts): Promise<SpawnSecrets> {
  const asked = uses.map(readUse)
  refuseTwice(asked, parts.taken)
  // SECURITY: before any source is asked, so that a refusal fetches nothing and tells nothing but the name.
  // test/attacks/vault: "a secret that policy does not grant is refused"
  parts.requireGranted([...new Set(asked.map(({ name }) => name))])
  const sources = asked.map((each) => find(each, parts.vaults))
  const values = new Map<string, Uint8Array>()
  for (const [index, { name, secret }] of asked.entries())
    if (!values.has(name))
      values.set(name, await fetch(sources[index] as Source, { secret, name, signal: parts.signal }))
  for (const [name, value] of values) parts.redaction.learn(name, value)
  const env = Object.create(null) as Record<string, string>
  const files: SecretFile[] = []
  for (const { name, as } of asked) {
    const value = values.get(name) as Uint8Array
    if ('file' in as) files.push({ name: as.file, bytes: value })
    else env[as.env] = asVariable(value, name)
  }
  return { env, files }
}

function refuseTwice(asked: readonly AskedSecret[], taken: Readonly<Record<string, string>>): void {
  const places = asked.map(({ as }) => ('file' in as ? `the file ${as.file}` : `the variable ${as.env}`))
  const twice = places.find((place, index) => places.indexOf(place) !== index)
  const set = asked.find(({ as }) => 'env' in as && Object.hasOwn(taken, as.env))
  if (twice === undefined && set === undefined) return
  const place = twice ?? places[asked.indexOf(set as AskedSecret)]
  throw new GloveboxError('INVALID_ENV', `Cannot hand over the secrets: ${place} is set twice`, {
    hint: 'Give each secret a variable or a file of its own.',
  })
}

function find({ vault, secret, name }: AskedSecret, vaults: readonly Vault[]): Source {
  const found = vaults.find((each) => each.name === vault)
  const names = found === undefined ? [] : namesOf(found.source)
  if (found !== undefined && names.includes(secret)) return found.source
  const known = vaults.flatMap((each) => namesOf(each.source).map((one) => `${each.name}/${one}`))
  throw new GloveboxError('NOT_FOUND', `Cannot hand over ${name}: no vault of this sandbox has it`, {
    hint:
      known.length === 0
        ? 'It has no vault with a secret in it. Vaults are named when a sandbox is made: see docs/vaults.md.'
        : didYouMean(name, known),
  })
}

async function fetch(source: Source, asked: AskedValue): Promise<Uint8Array> {
  const { name } = asked
  const value = await source.read(asked)
  // SECURITY: what is too short to be found in an output without finding everything cannot be redacted.
  // test/attacks/vault: "a value that is too short to be redacted is not handed over"
  if (withoutTrailingBreaks(Buffer.from(value)).length < leastBytes)
    throw unavailable(
      name,
      `it is shorter than ${leastBytes} bytes, and could not be told from other text in an output`,
    )
  return value
}

/** As a shell's $(…) has it: without the line breaks at the end. */
function asVariable(value: Uint8Array, name: string): string {
  const bytes = withoutTrailingBreaks(Buffer.from(value))
  const text = bytes.toString('utf8')
  if (bytes.includes(0) || !Buffer.from(text, 'utf8').equals(bytes))
    throw new GloveboxError(
      'INVALID_ENV',
      `Cannot hand over ${name}: it is no text, and a variable takes nothing else`,
      {
        hint: `Ask for it as a file: { name: '${name}', file: '…' }.`,
      },
    )
  return text
}
