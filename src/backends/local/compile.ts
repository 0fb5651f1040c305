// From a spec to what `local` would do with it. Pure. There is no command line and no filter to show: the command
// runs as it is, after its virtual paths have been exchanged for host paths.
import type { Plan, SandboxSpec } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { accountFor } from '../../policy/enforce.ts'
import { capabilitiesFor, whyNot, type HostTraits } from './capabilities.ts'

export function compilePlan(spec: SandboxSpec, traits: HostTraits): Plan {
  refuseRootMount(spec)
  const account = accountFor({
    backend: 'local',
    capabilities: capabilitiesFor(traits),
    isolates: false,
    effective: spec.policy,
    demanded: spec.demanded,
    mounts: spec.mounts,
    why: whyNot,
  })
  return {
    backend: 'local',
    spec,
    argv: ['…'],
    mounts: [
      'nothing is mounted: paths are rewritten in commands, environment and output',
      `${spec.home.guestPath} stands for ${spec.home.hostPath}, the agent's home`,
      ...withCatalog(spec).mounts.map(
        ({ guestPath, hostPath, mode }) => `${guestPath} stands for ${hostPath}, ${mode}`,
      ),
    ],
    filter: [],
    ...account,
  }
}

/** Every absolute path in every command would be one below the mount, `/bin/sh` included. */
function refuseRootMount({ mounts }: SandboxSpec): void {
  if (!mounts.some(({ guestPath }) => guestPath === '/')) return
  throw new GloveboxError(
    'INVALID_INPUT',
    'Cannot mount at /: local rewrites paths in text and could not tell them apart',
    {
      hint: 'Mount at a path of its own, such as /workspace.',
    },
  )
}
