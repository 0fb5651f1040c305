// Policy values in words, the same in refusals and in `explain`.
import type { EffectivePolicy, Origin, PolicyField } from '../contract/policy.ts'
import { fieldRules } from './fields.ts'

const sizes = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const

function formatBytes(bytes: number): string {
  for (const [size, name] of sizes) if (bytes >= size && bytes % size === 0) return `${bytes / size} ${name}`
  return `${bytes} bytes`
}

export const formatNames = (names: readonly string[]): string => (names.length === 0 ? '(nothing)' : names.join(', '))

const formatNetwork = ({ mode, allow }: EffectivePolicy['network']): string =>
  mode === 'allowlist' ? `allowlist: ${formatNames(allow)}` : mode

export function formatValue<F extends PolicyField>(field: F, value: EffectivePolicy[F]): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'number') {
    const { unit } = fieldRules[field]
    return unit === 'bytes' ? formatBytes(value) : `${value} ${unit}`
  }
  return isNetwork(value) ? formatNetwork(value) : formatNames(value)
}

const isNetwork = (value: object): value is EffectivePolicy['network'] => 'mode' in value

export const formatOrigin = ({ layer, source }: Origin): string => `${layer} (${source})`
