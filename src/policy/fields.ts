// The one table of policy: for each field its default, its ceiling, when a value is wider than another,
// and the capability that must hold it. Everything else in this room reads the table and names no field.
// It knows neither layers nor backends.
import type { Capability } from '../contract/capability.ts'
import type { EffectivePolicy, PolicyField } from '../contract/policy.ts'
import {
  checkBoolean,
  checkEnvironmentNames,
  checkGuestPaths,
  checkNetwork,
  checkNumber,
  checkRelativeNames,
  checkSecretNames,
  networkModes,
  type NumberBounds,
} from './check.ts'
import { builtInProtectedNames } from './protect.ts'

export type Unit = 'ms' | 'bytes' | 'MiB' | 'cores' | 'processes' | 'switch' | 'names' | 'network'

export interface FieldRule<F extends PolicyField> {
  readonly unit: Unit
  readonly initial: EffectivePolicy[F]
  /** Absent: layers only add restrictions to the field, so nothing needs a ceiling. */
  readonly ceiling?: EffectivePolicy[F]
  /** What a mechanism must be able to do for this value to hold. */
  readonly capability: (value: EffectivePolicy[F]) => Capability | undefined
  readonly check: (value: unknown, path: string) => EffectivePolicy[F]
  /** Does `asked` permit anything that `allowed` does not? */
  readonly isWider: (asked: EffectivePolicy[F], allowed: EffectivePolicy[F]) => boolean
  /** The widest value within both. */
  readonly meet: (one: EffectivePolicy[F], other: EffectivePolicy[F]) => EffectivePolicy[F]
}

const KiB = 1024
const MiB = 1024 * KiB

// Node's timers hold 31 bits of milliseconds; a longer one fires at once.
const longestTimer = 2 ** 31 - 1
// Captured output becomes one string, and V8 ends strings at 2^29 - 24 characters.
const longestText = 500 * MiB
const largestPidMax = 2 ** 22
const wholeUpTo = (most: number): NumberBounds => ({ least: 1, most, whole: true })

type NumberField = { [F in PolicyField]: EffectivePolicy[F] extends number ? F : never }[PolicyField]

interface NumberRow extends NumberBounds {
  readonly unit: Unit
  readonly initial: number
  readonly ceiling: number
  readonly capability: Capability | undefined
}

const number = <F extends NumberField>(row: NumberRow): FieldRule<F> => ({
  unit: row.unit,
  initial: row.initial,
  ceiling: row.ceiling,
  capability: () => row.capability,
  check: (value, path) => checkNumber(value, path, row),
  isWider: (asked, allowed) => asked > allowed,
  meet: (one, other) => Math.min(one, other),
})

const isSubset = (names: readonly string[], of: readonly string[]): boolean => {
  const known = new Set(of)
  return names.every((name) => known.has(name))
}
const intersection = (one: readonly string[], other: readonly string[]): readonly string[] => {
  const known = new Set(other)
  return one.filter((name) => known.has(name))
}

type Network = EffectivePolicy['network']
const modeRank = (network: Network): number => networkModes.indexOf(network.mode)

// Entries are compared letter by letter: whether `EXAMPLE.com` is `example.com` is for the one parser that
// also dials to say, and until then the stricter answer stands.
const networkRule: FieldRule<'network'> = {
  unit: 'network',
  initial: { mode: 'none', allow: [] },
  ceiling: { mode: 'none', allow: [] },
  capability: ({ mode }) => `network.${mode}`,
  check: checkNetwork,
  isWider: (asked, allowed) =>
    modeRank(asked) === modeRank(allowed) && asked.mode === 'allowlist'
      ? !isSubset(asked.allow, allowed.allow)
      : modeRank(asked) > modeRank(allowed),
  meet: (one, other) => {
    if (one.mode === 'allowlist' && other.mode === 'allowlist') {
      return { mode: 'allowlist', allow: intersection(one.allow, other.allow) }
    }
    return modeRank(one) <= modeRank(other) ? one : other
  },
}

/** A list of restrictions: the longer, the narrower. */
const restrictions = <F extends 'protect' | 'denyRead'>(
  initial: readonly string[],
  capability: Capability,
  check: (value: unknown, path: string) => readonly string[],
): FieldRule<F> => ({
  unit: 'names',
  initial,
  capability: (names) => (names.length === 0 ? undefined : capability),
  check,
  isWider: (asked, allowed) => !isSubset(allowed, asked),
  meet: (one, other) => [...new Set([...one, ...other])],
})

// Per row: default, ceiling, and the absolute bounds outside of which a value means nothing to the system.
export const fieldRules: { readonly [F in PolicyField]: FieldRule<F> } = {
  network: networkRule,
  timeoutMs: number({
    unit: 'ms',
    initial: 60_000,
    ceiling: 300_000,
    capability: 'timeout',
    ...wholeUpTo(longestTimer),
  }),
  maxStdoutBytes: number({
    unit: 'bytes',
    initial: MiB,
    ceiling: 10 * MiB,
    capability: 'output.bounded',
    ...wholeUpTo(longestText),
  }),
  maxStderrBytes: number({
    unit: 'bytes',
    initial: MiB,
    ceiling: 10 * MiB,
    capability: 'output.bounded',
    ...wholeUpTo(longestText),
  }),
  // Held by whoever collects artifacts, on the operator's side, so no backend is asked for it.
  maxArtifactsBytes: number({
    unit: 'bytes',
    initial: 50 * MiB,
    ceiling: 200 * MiB,
    capability: undefined,
    ...wholeUpTo(Number.MAX_SAFE_INTEGER),
  }),
  memoryMb: number({ unit: 'MiB', initial: 1024, ceiling: 4096, capability: 'memory', ...wholeUpTo(2 ** 32) }),
  // The smallest quota that the kernel takes is 1 ms of each 100 ms.
  cpuCores: number({ unit: 'cores', initial: 1, ceiling: 4, capability: 'cpu', least: 0.01, most: 8192, whole: false }),
  pids: number({ unit: 'processes', initial: 256, ceiling: 512, capability: 'pids', ...wholeUpTo(largestPidMax) }),
  fileSizeMb: number({ unit: 'MiB', initial: 2048, ceiling: 16_384, capability: 'fileSize', ...wholeUpTo(2 ** 32) }),
  tmpMb: number({ unit: 'MiB', initial: 256, ceiling: 2048, capability: 'tmpSize', ...wholeUpTo(2 ** 32) }),
  shmMb: number({ unit: 'MiB', initial: 64, ceiling: 1024, capability: 'tmpSize', ...wholeUpTo(2 ** 32) }),
  // SECURITY: the ceiling is the operator's own list, so a request cannot pull a secret out of the operator's
  // environment by naming it. test/attacks/environment: "a request cannot add a name to the environment"
  env: {
    unit: 'names',
    initial: [],
    ceiling: [],
    capability: () => 'environment.isolated',
    check: checkEnvironmentNames,
    isWider: (asked, allowed) => !isSubset(asked, allowed),
    meet: intersection,
  },
  // SECURITY: nothing is granted unless the operator names it. test/attacks/vault: "a secret that policy does not grant is refused"
  secrets: {
    unit: 'names',
    initial: [],
    ceiling: [],
    capability: (names) => (names.length === 0 ? undefined : 'secrets.scoped'),
    check: checkSecretNames,
    isWider: (asked, allowed) => !isSubset(asked, allowed),
    meet: intersection,
  },
  // Decided by Glovebox's own file actions before they act.
  delete: {
    unit: 'switch',
    initial: false,
    ceiling: false,
    capability: () => undefined,
    check: checkBoolean,
    isWider: (asked, allowed) => asked && !allowed,
    meet: (one, other) => one && other,
  },
  protect: restrictions(builtInProtectedNames, 'files.protected', checkRelativeNames),
  denyRead: restrictions([], 'files.denyRead', checkGuestPaths),
}

export const policyFields = Object.keys(fieldRules) as readonly PolicyField[]

export const isPolicyField = (name: string): name is PolicyField => Object.hasOwn(fieldRules, name)
