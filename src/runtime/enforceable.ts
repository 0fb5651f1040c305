// Whether a backend can hold what a sandbox needs, asked above the backends.
import type { Backend, SandboxSpec } from '../contract/backend.ts'
import { accountFor } from '../policy/enforce.ts'

/** SECURITY: asked here as well as by the backends themselves, since a backend may be anybody's.
 * test/attacks/policy: "a backend without a wall is refused and not used without it" */
export function requireEnforceable({ name, capabilities }: Backend, { policy, demanded, mounts }: SandboxSpec): void {
  accountFor({
    backend: name,
    capabilities,
    isolates: capabilities['filesystem.isolated'] !== undefined,
    effective: policy,
    demanded,
    mounts,
    why: (capability) => `${name} does not claim ${capability}`,
  })
}
