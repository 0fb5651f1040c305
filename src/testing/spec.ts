// A spec made by hand, for cases that look at a boundary below the runtime.
import { join } from 'node:path'
import type { SandboxSpec } from '../contract/backend.ts'
import type { GuestPath, HostPath } from '../contract/mount.ts'
import type { EffectivePolicy } from '../contract/policy.ts'
import type { CaseSpecOptions } from './case.ts'

const mib = 1024 * 1024

const plainPolicy: EffectivePolicy = {
  network: { mode: 'none', allow: [] },
  timeoutMs: 60_000,
  maxStdoutBytes: mib,
  maxStderrBytes: mib,
  maxArtifactsBytes: 50 * mib,
  memoryMb: 1024,
  cpuCores: 1,
  pids: 256,
  fileSizeMb: 1024,
  tmpMb: 64,
  shmMb: 16,
  env: [],
  secrets: [],
  delete: false,
  protect: [],
  denyRead: [],
}

export const guest = (path: string): GuestPath => path as GuestPath

export function handMadeSpec(root: string, options: CaseSpecOptions = {}): SandboxSpec {
  const mounts = options.mounts ?? [{ guestPath: '/workspace', hostPath: join(root, 'workspace') }]
  return {
    mounts: mounts.map(({ guestPath, hostPath, mode }) => ({
      guestPath: guest(guestPath),
      hostPath: hostPath as HostPath,
      mode: mode ?? 'rw',
    })),
    home: { guestPath: guest('/home/agent'), hostPath: join(root, 'home') as HostPath },
    cwd: guest('/workspace'),
    policy: { ...plainPolicy, ...options.policy },
    demanded: new Set(),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/home/agent', ...options.env },
  }
}
