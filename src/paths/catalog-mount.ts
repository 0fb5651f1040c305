// The catalog as one more mount. Whoever lays or walks mounts lays and walks it like any other read-only one; in the spec it stands
// apart, because nobody asked for it and no policy speaks of it.
import type { SandboxSpec } from '../contract/backend.ts'

/** SECURITY: read-only, and last in the guest's sight of its path, so that an agent's situation is told by the operator alone.
 * test/attacks/self-description: "the catalog can be neither written, replaced, moved nor covered" */
export function withCatalog(spec: SandboxSpec): SandboxSpec {
  const { catalog, ...rest } = spec
  return catalog === undefined ? spec : { ...rest, mounts: [...spec.mounts, { ...catalog, mode: 'ro' }] }
}
