// May a sandbox that was made for nobody in particular be handed to somebody who asks for less? Some rules are walls, which stay as
// they were built; some are limits, which can still be drawn in; the rest our own side holds, command by command.
import type { NarrowableLimits } from '../contract/backend.ts'
import type { EffectivePolicy, PolicyField } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'

const narrowable = ['memoryMb', 'cpuCores', 'pids', 'fileSizeMb'] as const satisfies readonly (keyof NarrowableLimits)[]

/** Held on the operator's side, from the policy of whoever uses the sandbox now. */
const heldByUs: ReadonlySet<PolicyField> = new Set([
  'timeoutMs',
  'maxStdoutBytes',
  'maxStderrBytes',
  'maxArtifactsBytes',
  'secrets',
  'delete',
])

export type ClaimFit =
  | { readonly fits: 'as it is' }
  | { readonly fits: 'narrowed'; readonly to: NarrowableLimits }
  /** The first rule that the sandbox cannot be brought to. */
  | { readonly fits: false; readonly because: PolicyField }

/**
 * SECURITY: a field that is not named above must be equal, so that a rule of tomorrow is a wall until somebody decides otherwise.
 * src/policy/claim.test: "a rule that nobody has thought about is a wall"
 */
export function fitClaim(made: EffectivePolicy, wanted: EffectivePolicy): ClaimFit {
  const fields = new Set([...Object.keys(made), ...Object.keys(wanted)]) as ReadonlySet<PolicyField>
  const limits = new Set<PolicyField>(narrowable)
  for (const field of fields)
    if (!heldByUs.has(field) && !limits.has(field) && !isSame(made[field], wanted[field]))
      return { fits: false, because: field }
  const wider = findWider(made, wanted)
  if (wider !== undefined) return { fits: false, because: wider }
  if (narrowable.every((field) => made[field] === wanted[field])) return { fits: 'as it is' }
  const { memoryMb, cpuCores, pids, fileSizeMb } = wanted
  return { fits: 'narrowed', to: { memoryMb, cpuCores, pids, fileSizeMb } }
}

/** SECURITY: asked by the boundaries themselves, too. test/attacks/recycle: "a claim cannot ask a member for more than it was made with" */
export function refuseWider(held: NarrowableLimits, asked: NarrowableLimits): void {
  const wider = findWider(held, asked)
  if (wider === undefined) return
  throw new GloveboxError('INTERNAL', `Cannot narrow the sandbox: ${wider} would be wider than what it was made with`)
}

/** What is no number is no limit either. */
const findWider = (held: NarrowableLimits, asked: NarrowableLimits): keyof NarrowableLimits | undefined =>
  narrowable.find((field) => !(asked[field] > 0 && asked[field] <= held[field]))

/** Lists are compared as sets: in which order names are protected says nothing. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    const [a, b] = [new Set<unknown>(one), new Set<unknown>(other)]
    return a.size === b.size && [...a].every((value) => b.has(value))
  }
  if (typeof one === 'object' && typeof other === 'object' && one !== null && other !== null) {
    const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>]
    const names = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...names].every((name) => isSame(a[name], b[name]))
  }
  return one === other
}

/**
 * Variables that a sandbox was made with cannot be taken out of it, only given other values; so a claim must have a value for each.
 */
export const coversEnvironment = (
  made: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean => Object.keys(made).every((name) => Object.hasOwn(wanted, name))
