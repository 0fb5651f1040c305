// The vaults of a sandbox: which there are, what a command gets of them, and the redaction that knows every value that was
// handed out. The operator's environment and programs are reached from here alone.
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { Redaction } from '../contract/redaction.ts'
import type { DescribedVault, SecretUse, SpawnSecrets, VaultSource } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'
import { requireGranted } from '../policy/request.ts'
import { openSpawner, type Spawner } from '../process/spawn.ts'
import { openRedaction, type LearningRedaction } from '../vaults/redaction/redaction.ts'
import type { MountRequest } from './mount-text.ts'
import { describeVaults, handOver, openVault, vaultGuestPath, type Vault } from '../vaults/vaults.ts'

export type VaultRequests = Readonly<Record<string, VaultSource>>

export interface Secrets {
  readonly redaction: Redaction
  describe(resolved: ResolvedPolicy): readonly DescribedVault[]
  /** Undefined where none was asked for. `taken`: variables that the command has already. */
  handOver(uses: readonly SecretUse[] | undefined, asker: Asker): Promise<SpawnSecrets | undefined>
  readonly vaults: readonly Vault[]
  /** From now on these. */
  replace(vaults: readonly Vault[]): void
  readonly spawner: () => Spawner
  close(): void
}

export interface Asker {
  readonly resolved: ResolvedPolicy
  readonly taken: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

const vaultPlace = /^\/vaults\/([^/]+)$/

const isDirectory = (source: VaultSource): source is { readonly directory: string } =>
  typeof source === 'object' && source !== null && Object.hasOwn(source, 'directory')

/** A vault that is a directory is a mount like any other, and checked as such. */
export const mountRequestsFor = (requests: VaultRequests): readonly MountRequest[] =>
  Object.entries(requests).flatMap(([name, source]) =>
    isDirectory(source) ? [{ guestPath: vaultGuestPath(name), hostPath: source.directory, mode: 'vault' }] : [],
  )

export interface OpenedVaults {
  readonly vaults: readonly Vault[]
  /** For vaults without a directory: one with their names in it, and nothing else. */
  readonly mounts: readonly Mount[]
}

/** Those that were asked for by name, and every mount of mode `vault` that stands at /vaults/<name>. */
export function openVaults(requests: VaultRequests, mounts: readonly Mount[], place: VaultPlace): OpenedVaults {
  const parts = { operatorEnv: process.env, spawner: place.spawner }
  const vaults: Vault[] = []
  const shown: Mount[] = []
  try {
    for (const { mode, guestPath, hostPath } of mounts) {
      const name = mode === 'vault' ? vaultPlace.exec(guestPath)?.[1] : undefined
      if (name !== undefined) vaults.push(openVault(name, { directory: hostPath }, parts))
    }
    for (const [name, source] of Object.entries(requests)) {
      if (isDirectory(source)) continue
      refuseTwice(name, vaults)
      const vault = openVault(name, source, parts)
      vaults.push(vault)
      refuseGuestsPrograms(name, source, [...mounts, ...(place.writable ?? [])])
      const hostPath = namesDirectory(name, vault.source.names(), place.scratch)
      shown.push({ guestPath: vaultGuestPath(name) as GuestPath, hostPath, mode: 'vault' })
    }
    return { vaults, mounts: shown }
  } catch (error) {
    closeVaults(vaults)
    throw error
  }
}

export interface VaultPlace {
  /** Out of the guest's reach. */
  readonly scratch: HostPath
  readonly spawner: () => Spawner
  /** Mounts that stand already. */
  readonly writable?: readonly Mount[]
}

export const closeVaults = (vaults: readonly Vault[]): void => vaults.forEach(({ source }) => source.close?.())

function refuseTwice(name: string, vaults: readonly Vault[]): void {
  if (!vaults.some((other) => other.name === name)) return
  throw new GloveboxError('INVALID_INPUT', `Cannot use the vault ${name}: there are two of that name`, {
    hint: `Name one of them differently, or leave the mount at ${vaultGuestPath(name)} out.`,
  })
}

/** SECURITY: what the guest can write, it would have run on the host.
 * test/attacks/vault: "a program that the guest can write is not run for a vault" */
function refuseGuestsPrograms(name: string, source: VaultSource, mounts: readonly Mount[]): void {
  if (!('command' in source)) return
  const writable = mounts.filter(({ mode }) => mode === 'rw').map(({ hostPath }) => hostPath)
  const words = Object.values(source.command).flat()
  const theirs = words
    .filter((word) => word.startsWith('/'))
    .find((word) => writable.some((root) => isBelow(word, root)))
  if (theirs === undefined) return
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot use the vault ${name}: the guest can write what would be run for it`,
    {
      hint: 'Keep the program, and what it reads, outside of the mounts.',
      operatorDetail: theirs,
    },
  )
}

function isBelow(path: string, root: string): boolean {
  const real = realOf(path)
  return [path, real].some((each) => each === root || each.startsWith(`${root}/`))
}

function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

function namesDirectory(vault: string, names: readonly string[], scratch: HostPath): HostPath {
  const directory = join(scratch, 'vaults', vault) as HostPath
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const name of names) writeFileSync(join(directory, name), '', { mode: 0o400, flag: 'wx' })
  return directory
}

export function openSecrets(
  first: readonly Vault[],
  spawner: LazySpawner,
  redaction: LearningRedaction = openRedaction(),
): Secrets {
  let vaults = first
  return {
    redaction,
    get vaults() {
      return vaults
    },
    spawner: spawner.get,
    describe: ({ effective }) => describeVaults(vaults, effective.secrets),
    async handOver(uses, { resolved, taken, signal }) {
      if (uses === undefined || uses.length === 0) return undefined
      const required = (names: readonly string[]): void => requireGranted(resolved, names)
      return handOver(uses, { vaults, redaction, requireGranted: required, taken, signal })
    },
    replace(next) {
      closeVaults(vaults.filter((vault) => !next.includes(vault)))
      vaults = next
    },
    close() {
      closeVaults(vaults)
      spawner.close()
    },
  }
}

export interface LazySpawner {
  readonly get: () => Spawner
  readonly close: () => void
}

/** Opened at the first use, which most sandboxes never see. */
export function lazySpawner(): LazySpawner {
  let opened: Spawner | undefined
  return {
    get: () => (opened ??= openSpawner()),
    close: () => opened?.close(),
  }
}
