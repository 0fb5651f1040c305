// The operator's configuration: the settings file found upward from a directory, and a policy file named by hand.
// Promises that what cannot be read, trusted or understood is refused with INVALID_SETTINGS before anything starts.
// Knows nothing of command-line flags; the command line lays its own layers over these.
import { basename, dirname } from 'node:path'
import type { BackendName } from '../contract/backend.ts'
import type { PolicyLayer } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { parseMountText, resolveHostPath, type MountRequest } from './mount-text.ts'
import { findSettingsFile, readPolicyFile, readSettingsFile, type SettingsText } from './settings-file.ts'
import type { SettingsContent } from './settings-schema.ts'

export interface Settings {
  /** Where they were found, for the operator. */
  readonly path?: string
  readonly backend?: BackendName
  readonly docker?: NonNullable<SettingsContent['docker']>
  readonly mounts?: readonly MountRequest[]
  readonly layers: readonly PolicyLayer[]
  readonly env?: Readonly<Record<string, string>>
  /** What concerns execs of the server alone. */
  readonly sandbox?: NonNullable<SettingsContent['sandbox']>
  /** What concerns runs alone, with the file's own bytes for their record. */
  readonly run?: RunSettings
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
}

export async function loadSettings(place: SettingsPlace): Promise<Settings> {
  const file = settingsText(place)
  const found = file === undefined ? { layers: [] } : await loadFile(file)
  if (place.policyFile === undefined) return found
  const policy = await loadPolicy(readPolicyFile(place.policyFile))
  return { ...found, layers: [...found.layers, policy] }
}

function settingsText({ directory, settingsFile }: SettingsPlace): SettingsText | undefined {
  if (typeof settingsFile === 'object') return settingsFile
  if (settingsFile !== undefined) return readPolicyFile(settingsFile)
  const path = findSettingsFile(directory)
  return path === undefined ? undefined : readSettingsFile(path)
}

async function loadFile(file: SettingsText): Promise<Settings> {
  const { parseSettings } = await import('./settings-schema.ts')
  const content = parseSettings(file)
  refuseUnisolated(file, content)
  const directory = dirname(file.path)
  return {
    path: file.path,
    layers: content.policy === undefined ? [] : [settingsLayer(basename(file.path), content.policy)],
    ...(content.backend === undefined ? {} : { backend: content.backend }),
    ...(content.docker === undefined ? {} : { docker: content.docker }),
    ...(content.mounts === undefined ? {} : { mounts: content.mounts.map((mount) => toMount(mount, directory)) }),
    ...(content.env === undefined ? {} : { env: content.env }),
    ...(content.sandbox === undefined ? {} : { sandbox: content.sandbox }),
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
    sandbox: _sandbox,
    ...own
  } = content
  return { ...own, text, directory }
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
  if (content.backend !== 'local') return
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot use the settings file: "local" isolates nothing.', {
    hint: 'Remove "backend: local" from the file. To run without isolation, say --backend local on the command line.',
    operatorDetail: file.path,
  })
}
