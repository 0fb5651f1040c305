// Policy between the API's spelling and the house's.
import type { PolicyOverrides, PolicySnapshot } from '../contract/exec-record.ts'
import type { EffectivePolicy, PolicyField, PolicyValues } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'

/** What a request may ask for, and how it is written there. */
const written = {
  network: 'net',
  timeoutMs: 'timeout_ms',
  maxStdoutBytes: 'max_stdout_bytes',
  maxStderrBytes: 'max_stderr_bytes',
  maxArtifactsBytes: 'max_artifacts_bytes_total',
  memoryMb: 'memory_mb',
  cpuCores: 'cpu_cores',
  pids: 'pids',
  fileSizeMb: 'file_size_mb',
  tmpMb: 'tmp_mb',
  shmMb: 'shm_mb',
} as const satisfies Partial<Record<PolicyField, keyof PolicyOverrides>>

/** Without what was not asked for: a field that is there counts as demanded. */
export function toPolicyValues(overrides: PolicyOverrides): PolicyValues {
  const values = Object.entries(written).map(([field, name]) => [field, overrides[name]] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

const paths: ReadonlyMap<string, string> = new Map([
  ...Object.entries(written).map(([field, name]) => [field, `policy_overrides.${name}`] as const),
  ['secrets', 'exec.secrets'],
])

/** `request.network.allow[3]` is what the caller wrote as `policy_overrides.net.allow.3`. */
function pathOf(field: string): string | undefined {
  const [, name = '', rest = ''] = /^(?:request\.)?(\w+)(.*)$/.exec(field) ?? []
  const path = paths.get(name)
  return path === undefined ? undefined : `${path}${rest.replaceAll(/\[(\d+)\]/g, '.$1')}`
}

/** A refusal names the field as the caller wrote it. The hint is for the operator, who writes it as settings do. */
export function inCallersWords(refusal: GloveboxError): GloveboxError {
  const { code, message, hint, operatorDetail, facts } = refusal
  const { field, ...others } = facts
  const path = typeof field === 'string' ? pathOf(field) : undefined
  if (typeof field !== 'string' || path === undefined) return refusal
  // It stands at the beginning of the message, before any value.
  return new GloveboxError(code, message.replace(field, path), {
    ...(hint === undefined ? {} : { hint }),
    ...(operatorDetail === undefined ? {} : { operatorDetail }),
    facts: { ...others, ...(code === 'INVALID_INPUT' ? {} : { field: path }), fields: [path] },
    cause: refusal,
  })
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
