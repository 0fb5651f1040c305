// The operator's configuration: the settings file found upward from a directory, and a policy file named by hand.
// Promises that what cannot be read, trusted or understood is refused with INVALID_SETTINGS before anything starts.
// Knows nothing of command-line flags; the command line lays its own layers over these.
import { basename, dirname } from 'node:path'
import type { BackendName } from '../contract/backend.ts'
import type { PolicyLayer } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import type { MountOffers } from './pool/offers.ts'
import { parseMountText, resolveHostPath, type MountRequest } from './mount-text.ts'
import { findSettingsFile, readNamedFile, readSettingsFile, type SettingsText } from './settings-file.ts'
import type { VaultRequests } from './secrets.ts'
import type { SettingsContent, VaultsContent } from './settings-schema.ts'

export interface Settings {
  /** Where they were found, for the operator. */
  readonly path?: string
  readonly backend?: BackendName
  readonly docker?: NonNullable<SettingsContent['docker']>
  readonly mounts?: readonly MountRequest[]
  readonly layers: readonly PolicyLayer[]
  readonly env?: Readonly<Record<string, string>>
  readonly vaults?: VaultRequests
  /** What concerns execs of the server alone. */
  readonly sandbox?: NonNullable<SettingsContent['sandbox']>
  /** What concerns sandboxes that are kept for keys. */
  readonly pool?: PoolSettings
  /** What concerns runs alone, with the file's own bytes for their record. */
  readonly run?: RunSettings
}

export interface PoolSettings extends Omit<NonNullable<SettingsContent['pool']>, 'mounts' | 'offered_mounts'> {
  readonly mounts?: readonly MountRequest[]
  readonly offered_mounts?: MountOffers
  /** Where paths and modules in it begin. */
  readonly directory: string
}

export interface RunSettings extends Pick<
  SettingsContent,
  'executor' | 'model' | 'deliverables' | 'inputs' | 'review' | 'profile' | 'title'
> {
  /** Absent where no file was read. */
  readonly text?: string
  /** Where the paths in it begin. */
  readonly directory: string
}

export interface SettingsPlace {
  /** Where the search upward begins. */
  readonly directory: string
  /** A policy file that the operator named. Its layer comes after the settings file's. */
  readonly policyFile?: string
  /** A settings file that the operator named, or its text where it was kept: there is no search then. */
  readonly settingsFile?: string | SettingsText
  /** A file with vaults that the operator named. One of the same name in the settings gives way. */
  readonly vaultsFile?: string
}

export async function loadSettings(place: SettingsPlace): Promise<Settings> {
  const file = settingsText(place)
  const found: Settings = file === undefined ? { layers: [] } : await loadFile(file, place.settingsFile !== undefined)
  const policy = place.policyFile === undefined ? [] : [await loadPolicy(readNamedFile(place.policyFile, 'policy'))]
  const settings = { ...found, layers: [...found.layers, ...policy] }
  if (place.vaultsFile === undefined) return settings
  const vaults = await loadVaults(readNamedFile(place.vaultsFile, 'vaults'))
  return { ...settings, vaults: { ...found.vaults, ...vaults } }
}

function settingsText({ directory, settingsFile }: SettingsPlace): SettingsText | undefined {
  if (typeof settingsFile === 'object') return settingsFile
  if (settingsFile !== undefined) return readNamedFile(settingsFile, 'settings')
  const path = findSettingsFile(directory)
  return path === undefined ? undefined : readSettingsFile(path)
}

async function loadFile(file: SettingsText, isNamed: boolean): Promise<Settings> {
  const { parseSettings } = await import('./settings-schema.ts')
  const content = parseSettings(file)
  refuseUnisolated(file, content)
  if (!isNamed) refuseForeignCode(file, content)
  const directory = dirname(file.path)
  return {
    path: file.path,
    layers: content.policy === undefined ? [] : [settingsLayer(basename(file.path), content.policy)],
    ...(content.backend === undefined ? {} : { backend: content.backend }),
    ...(content.docker === undefined ? {} : { docker: content.docker }),
    ...(content.mounts === undefined ? {} : { mounts: content.mounts.map((mount) => toMount(mount, directory)) }),
    ...(content.env === undefined ? {} : { env: content.env }),
    ...(content.vaults === undefined ? {} : { vaults: toVaults(content.vaults, directory) }),
    ...(content.sandbox === undefined ? {} : { sandbox: content.sandbox }),
    ...(content.pool === undefined ? {} : { pool: poolSettings(content.pool, directory) }),
    run: runSettings(content, file.text, directory),
  }
}

function runSettings(content: SettingsContent, text: string, directory: string): RunSettings {
  const {
    backend: _,
    docker: _docker,
    mounts: _mounts,
    policy: _policy,
    env: _env,
    vaults: _vaults,
    sandbox: _sandbox,
    pool: _pool,
    ...own
  } = content
  return { ...own, text, directory }
}

function poolSettings(content: NonNullable<SettingsContent['pool']>, directory: string): PoolSettings {
  const { mounts, skills, mount_roots: roots, offered_mounts: offers, ...plain } = content
  return {
    ...plain,
    directory,
    ...(mounts && { mounts: mounts.map((mount) => toMount(mount, directory)) }),
    ...(skills && { skills: resolveHostPath(skills, directory) }),
    ...(roots && { mount_roots: roots.map((root) => resolveHostPath(root, directory)) }),
    ...(offers && { offered_mounts: toOffers(offers, directory) }),
  }
}

const toOffers = (
  offers: NonNullable<NonNullable<SettingsContent['pool']>['offered_mounts']>,
  directory: string,
): MountOffers =>
  Object.fromEntries(
    Object.entries(offers).map(([name, { hostPath, mode = 'ro', projects }]) => [
      name,
      { hostPath: resolveHostPath(hostPath, directory), mode, projects },
    ]),
  )

async function loadVaults(file: SettingsText): Promise<VaultRequests> {
  const { parseVaults } = await import('./settings-schema.ts')
  return toVaults(parseVaults(file), dirname(file.path))
}

const toVaults = (content: VaultsContent, directory: string): VaultRequests =>
  Object.fromEntries(Object.entries(content).map(([name, source]) => [name, toSource(source, directory)]))

function toSource(source: VaultsContent[string], directory: string): VaultRequests[string] {
  if (source.directory !== undefined) return { directory: resolveHostPath(source.directory, directory) }
  if (source.environment !== undefined) return { environment: source.environment }
  return { command: source.command ?? {} }
}

async function loadPolicy(file: SettingsText): Promise<PolicyLayer> {
  const { parsePolicy } = await import('./settings-schema.ts')
  return settingsLayer('--policy', parsePolicy(file))
}

const settingsLayer = (source: string, values: PolicyLayer['values']): PolicyLayer => ({
  layer: 'settings',
  source,
  values,
})

function toMount(mount: NonNullable<SettingsContent['mounts']>[number], directory: string): MountRequest {
  if (typeof mount === 'string') return parseMountText(mount, directory)
  const { guestPath, hostPath, mode } = mount
  return { guestPath, hostPath: resolveHostPath(hostPath, directory), ...(mode === undefined ? {} : { mode }) }
}

/**
 * SECURITY: the file may have come with a cloned project, and the project's author is not the operator: a file alone
 * must not switch isolation off. test/attacks/settings: "a settings file cannot switch the sandbox off"
 */
function refuseUnisolated(file: SettingsText, content: SettingsContent): void {
  if (content.backend !== 'local' && content.pool?.use !== 'local') return
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot use the settings file: "local" isolates nothing.', {
    hint: 'Remove "local" from the file. To run without isolation, say --backend local on the command line.',
    operatorDetail: file.path,
  })
}

/**
 * SECURITY: a project that was cloned may bring a settings file and a module along. Code of the operator's side is loaded only
 * where he named the file himself. test/attacks/settings: "a settings file that was found cannot load code"
 */
function refuseForeignCode(file: SettingsText, { pool, vaults = {} }: SettingsContent): void {
  refuseForeignPrograms(file, vaults)
  if (pool?.use?.includes('#') !== true) return
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot use the settings file: it was found, and names code to load.', {
    hint: 'Name the file yourself: glovebox serve --config FILE.',
    operatorDetail: file.path,
  })
}

/** SECURITY: nor is a program of its choice run on the host.
 * test/attacks/vault: "a settings file that was found cannot have a program run for a vault" */
function refuseForeignPrograms(file: SettingsText, vaults: VaultsContent): void {
  const found = Object.entries(vaults).find(([, { command }]) => command !== undefined)?.[0]
  if (found === undefined) return
  throw new GloveboxError(
    'INVALID_SETTINGS',
    `Cannot use the settings file: it was found, and the vault ${found} would run a program of its choice on the host.`,
    {
      hint: 'Put the vault into a file of your own, and name it: --vaults FILE. Or name the settings file with --config.',
      operatorDetail: file.path,
    },
  )
}
