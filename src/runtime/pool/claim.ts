// What a claim changes in a sandbox that was made for nobody in particular: its limits, and the variables of its commands.
import type { Boundary, NarrowableLimits, SandboxSpec } from '../../contract/backend.ts'
import { coversEnvironment, fitClaim } from '../../policy/claim.ts'

export interface SpareFit {
  /** Absent: those that it was made with hold. */
  readonly limits?: NarrowableLimits
  /** Those that it does not have, or has with another value. */
  readonly variables: Readonly<Record<string, string>>
}

/** Undefined: it cannot be brought to what is wanted. */
export function fitSpare(made: SandboxSpec, wanted: SandboxSpec): SpareFit | undefined {
  const policy = fitClaim(made.policy, wanted.policy)
  if (policy.fits === false || !coversEnvironment(made.env, wanted.env)) return undefined
  const variables = Object.fromEntries(Object.entries(wanted.env).filter(([name, value]) => made.env[name] !== value))
  return policy.fits === 'narrowed' ? { limits: policy.to, variables } : { variables }
}

/** SECURITY: as every variable of a command's, they reach the guest's own process and nothing else, and no other claimant's.
 * test/attacks/recycle: "a claim's variables are seen by its own commands only" */
export function withVariables(boundary: Boundary, variables: Readonly<Record<string, string>>): Boundary {
  if (Object.keys(variables).length === 0) return boundary
  return { ...boundary, spawn: (request) => boundary.spawn({ ...request, env: { ...variables, ...request.env } }) }
}
