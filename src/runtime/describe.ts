// What a sandbox says of itself, in the guest's words.
import type { Plan } from '../contract/backend.ts'
import type { SandboxId } from '../contract/ids.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { Description } from '../contract/sandbox.ts'
import type { Secrets } from './secrets.ts'

export interface Described {
  readonly id: SandboxId
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  readonly secrets: Pick<Secrets, 'describe'>
}

export function describeSandbox({ id, plan, resolved, secrets }: Described): Description {
  const { spec } = plan
  return {
    id,
    backend: plan.backend,
    sandboxed: plan.enforced.some((entry) => entry.what === 'filesystem.isolated'),
    cwd: spec.cwd,
    networkMode: spec.policy.network.mode,
    homeDir: spec.home.guestPath,
    tmpDir: `${spec.home.guestPath}/tmp`,
    cacheDir: `${spec.home.guestPath}/.cache`,
    mounts: spec.mounts.map(({ guestPath, mode }) => ({ guestPath, mode })),
    vaults: secrets.describe(resolved),
    policy: resolved.explained,
    enforced: plan.enforced,
    notEnforced: plan.notEnforced,
    environment: Object.keys(spec.env).toSorted(),
    catalog: spec.catalog === undefined ? null : { guestPath: spec.catalog.guestPath, version: 1 },
  }
}
