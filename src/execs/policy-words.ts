// Policy between the API's spelling and the house's.
import type { PolicyOverrides, PolicySnapshot } from '../contract/exec-record.ts'
import type { EffectivePolicy, PolicyValues } from '../contract/policy.ts'

/** Without what was not asked for: a field that is there counts as demanded. */
export function toPolicyValues(overrides: PolicyOverrides): PolicyValues {
  const values: Record<string, unknown> = {
    network: overrides.net,
    timeoutMs: overrides.timeout_ms,
    maxStdoutBytes: overrides.max_stdout_bytes,
    maxStderrBytes: overrides.max_stderr_bytes,
    maxArtifactsBytes: overrides.max_artifacts_bytes_total,
    memoryMb: overrides.memory_mb,
    cpuCores: overrides.cpu_cores,
    pids: overrides.pids,
    fileSizeMb: overrides.file_size_mb,
    tmpMb: overrides.tmp_mb,
    shmMb: overrides.shm_mb,
  }
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

export const toSnapshot = (policy: EffectivePolicy): PolicySnapshot => ({
  net: { mode: policy.network.mode, allow: [...policy.network.allow] },
  timeout_ms: policy.timeoutMs,
  max_stdout_bytes: policy.maxStdoutBytes,
  max_stderr_bytes: policy.maxStderrBytes,
  max_artifacts_bytes_total: policy.maxArtifactsBytes,
  memory_mb: policy.memoryMb,
  cpu_cores: policy.cpuCores,
  pids: policy.pids,
  file_size_mb: policy.fileSizeMb,
  tmp_mb: policy.tmpMb,
  shm_mb: policy.shmMb,
  env: [...policy.env],
  secrets: [...policy.secrets],
  delete: policy.delete,
  protect: [...policy.protect],
  deny_read: [...policy.denyRead],
})

/**
 * What a request would have to ask for to get this policy, where it gets the rest unasked: for an exec whose request is gone with
 * its server. A backend refuses what it cannot hold if it is demanded, and tells of it if it is merely usual.
 */
export function overridesFrom(snapshot: PolicySnapshot, unasked: PolicySnapshot): PolicyOverrides {
  const { env: _env, secrets: _secrets, delete: _delete, protect: _protect, deny_read: _denyRead, ...limits } = snapshot
  const asked = Object.entries(limits).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(unasked[name as keyof PolicySnapshot]),
  )
  const { net, ...others }: Partial<typeof limits> = Object.fromEntries(asked)
  return { ...others, ...(net === undefined ? {} : { net: net.mode === 'allowlist' ? net : { mode: net.mode } }) }
}
