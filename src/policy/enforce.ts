// Compares what a policy needs with what a mechanism can hold, before anything starts. What a person asked for
// and the mechanism cannot hold is refused; what only the built-in default asked for is listed with the reason.
// A mechanism that isolates must in any case hold the four walls: files, processes, environment and network.
// It knows mechanisms only by their capabilities.
import {
  capabilityNames,
  type Capabilities,
  type Capability,
  type Enforced,
  type NotEnforced,
} from '../contract/capability.ts'
import type { Mount } from '../contract/mount.ts'
import type { EffectivePolicy, PolicyField } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { fieldRules, policyFields } from './fields.ts'

export interface AccountInput {
  readonly backend: string
  readonly capabilities: Capabilities
  readonly isolates: boolean
  readonly effective: EffectivePolicy
  readonly demanded: ReadonlySet<PolicyField>
  readonly mounts: readonly Mount[]
  /** Why this mechanism cannot hold it here, in words fit for the guest. */
  readonly why: (capability: Capability) => string
}

export interface Account {
  readonly enforced: readonly Enforced[]
  readonly notEnforced: readonly NotEnforced[]
}

interface Need {
  readonly what: Capability
  readonly because: string
  readonly must: boolean
}

const isolation = 'isolation'
// SECURITY: never a weaker sandbox. test/attacks/policy: "a backend without a wall is refused and not used without it"
const walls = ['filesystem.isolated', 'process.isolated', 'process.tree', 'environment.isolated'] as const

function needsOfField<F extends PolicyField>(
  field: F,
  { effective, demanded, isolates }: AccountInput,
): readonly Need[] {
  const what = fieldRules[field].capability(effective[field])
  if (what === undefined) return []
  return [{ what, because: field, must: demanded.has(field) || (isolates && field === 'network') }]
}

/** The mode of a mount is always somebody's word. Where nothing is isolated, file actions still hold a read-only mount, and
 * the account says that commands do not; a vault's contents must never be in reach, whoever asks. */
function needsOfMount({ mode, guestPath, over }: Mount, isolates: boolean): readonly Need[] {
  const because = `mount ${guestPath}`
  return [
    ...(over === undefined ? [] : [{ what: 'mount.layers', because, must: true } as const]),
    ...(mode === 'ro' ? [{ what: 'mount.readonly', because, must: isolates } as const] : []),
    ...(mode === 'vault' ? [{ what: 'mount.vault', because, must: true } as const] : []),
  ]
}

function needsOf(input: AccountInput): readonly Need[] {
  return [
    ...walls.map((what) => ({ what, because: isolation, must: input.isolates })),
    { what: 'syscalls.filtered', because: isolation, must: false },
    ...policyFields.flatMap((field) => needsOfField(field, input)),
    ...input.mounts.flatMap((mount) => needsOfMount(mount, input.isolates)),
  ]
}

const holder = (capabilities: Capabilities, what: Capability): string | undefined =>
  Object.hasOwn(capabilities, what) ? capabilities[what] : undefined

export function accountFor(input: AccountInput): Account {
  const needs = needsOf(input)
  const missing = needs.filter(({ what, must }) => must && holder(input.capabilities, what) === undefined)
  if (missing.length > 0) throw unenforceable(input, missing)
  const needed = new Set(needs.map(({ what }) => what))
  const inOrder = capabilityNames.filter((what) => needed.has(what))
  return {
    enforced: inOrder.flatMap((what) => {
      const by = holder(input.capabilities, what)
      return by === undefined ? [] : [{ what, by }]
    }),
    notEnforced: inOrder
      .filter((what) => holder(input.capabilities, what) === undefined)
      .map((what) => ({ what, why: input.why(what) })),
  }
}

function unenforceable({ backend, why }: AccountInput, needs: readonly Need[]): GloveboxError {
  const names = [...new Set(needs.map(({ what }) => what))]
  const missing = names.map((capability) => ({ capability, why: why(capability) }))
  const askedBy = [...new Set(needs.map(({ because }) => because))]
  const given = askedBy.filter((because) => because !== isolation)
  const another = 'use a backend that can: docs/reference/isolation.md tells what each holds.'
  return new GloveboxError(
    'POLICY_UNENFORCEABLE',
    `Cannot enforce ${names.join(', ')} with ${backend}: ${missing.map((one) => one.why).join('; ')}`,
    {
      hint: given.length === 0 ? `U${another.slice(1)}` : `Change ${given.join(', ')}, or ${another}`,
      facts: { backend, missing, askedBy },
    },
  )
}
