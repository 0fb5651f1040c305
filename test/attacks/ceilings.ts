// Requests that nobody but the operator may make.
import type { LayerName, PolicyValues } from '../../src/contract/policy.ts'
import type { resolvePolicy } from '../../src/policy/resolve.ts'

export const layer = (name: LayerName, values: object): Parameters<typeof resolvePolicy>[0][number] => ({
  layer: name,
  source: 'test',
  values,
})

/** One step above what is built in, field by field. */
export const aboveCeilings: readonly PolicyValues[] = [
  { network: { mode: 'allowlist', allow: ['example.com'] } },
  { network: { mode: 'full' } },
  { timeoutMs: 300_001 },
  { maxStdoutBytes: 10 * 1024 ** 2 + 1 },
  { maxStderrBytes: 10 * 1024 ** 2 + 1 },
  { maxArtifactsBytes: 200 * 1024 ** 2 + 1 },
  { memoryMb: 4097 },
  { cpuCores: 4.01 },
  { pids: 513 },
  { fileSizeMb: 16_385 },
  { tmpMb: 2049 },
  { shmMb: 1025 },
  { delete: true },
]
