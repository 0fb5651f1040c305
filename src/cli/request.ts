// Settings file and flags joined into what the runtime is asked for.
import type { CreateOptions } from '../runtime/create.ts'
import type { MountRequest } from '../runtime/mount-text.ts'
import { loadSettings } from '../runtime/settings.ts'
import { flagLayers, type SandboxFlags } from './flags.ts'

/** Law: the current directory is /workspace, writable, unless mounts are given by flags or settings. */
export async function requestFrom(flags: SandboxFlags, directory: string): Promise<CreateOptions> {
  const settings = await loadSettings({
    directory,
    ...(flags.policy === undefined ? {} : { policyFile: flags.policy }),
    ...(flags.vaults === undefined ? {} : { vaultsFile: flags.vaults }),
  })
  const backend = flags.backend ?? settings.backend
  const given = joinMounts(settings.mounts ?? [], flags.mount ?? [])
  return {
    mounts: given.length === 0 ? [{ guestPath: '/workspace', hostPath: directory, mode: 'rw' }] : given,
    layers: [...settings.layers, ...flagLayers(flags)],
    env: { ...settings.env, ...flags.env },
    ...(settings.vaults === undefined ? {} : { vaults: settings.vaults }),
    ...(backend === undefined ? {} : { backend }),
    ...(settings.docker === undefined ? {} : { docker: settings.docker }),
    ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
  }
}

/** A flag replaces the setting of the same guest path. Twice the same path in one source is left for the runtime to refuse. */
export function joinMounts(settings: readonly MountRequest[], flags: readonly MountRequest[]): readonly MountRequest[] {
  const replaced = new Set(flags.map((mount) => trimmed(mount.guestPath)))
  return [...settings.filter((mount) => !replaced.has(trimmed(mount.guestPath))), ...flags]
}

const trimmed = (guestPath: string): string => guestPath.replace(/\/+$/, '')
