// sandbox-manifest.json: what the boundary of a run was, in full, for whoever has to believe it or build it again. Places
// inside the run directory are told relative to it, so that a run may be moved or copied.
import { isAbsolute, relative } from 'node:path'
import type { SandboxManifest } from '../../contract/artifact.ts'
import type { ExplainedField } from '../../contract/policy.ts'
import { fingerprint } from '../../runs/fingerprint.ts'
import type { Planned } from '../create.ts'

export interface ManifestInput {
  readonly planned: Planned
  readonly backendVersion: string | undefined
  /** The real path of the run directory. */
  readonly directory: string
}

export function manifestOf(input: ManifestInput): Omit<SandboxManifest, 'run_id' | 'recorded_at'> {
  const { planned, backendVersion, directory } = input
  const { plan, resolved, id } = planned
  return {
    sandbox_id: id,
    backend: plan.backend,
    backend_version: backendVersion ?? null,
    cwd: plan.spec.cwd,
    mounts: plan.spec.mounts.map(({ guestPath, hostPath, mode }) => ({
      guest_path: guestPath,
      host_path: withinRun(directory, hostPath),
      mode,
    })),
    policy: resolved.explained.map(policyRow),
    enforced: plan.enforced.map(({ what, by }) => ({ what, by })),
    not_enforced: plan.notEnforced.map(({ what, why }) => ({ what, why })),
    environment: Object.keys(plan.spec.env).toSorted(),
    plan_fingerprint: planFingerprint(input),
  }
}

function withinRun(directory: string, hostPath: string): string {
  const inside = relative(directory, hostPath)
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? hostPath : inside
}

function policyRow({ field, value, from, ceiling }: ExplainedField): SandboxManifest['policy'][number] {
  return {
    field,
    value: plain(value),
    layer: from.layer,
    source: from.source,
    ceiling: ceiling === undefined ? null : plain(ceiling.value),
    ceiling_layer: ceiling?.from.layer ?? null,
  }
}

type Json = SandboxManifest['policy'][number]['value']
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value ?? null)) as Json

/** Of the plan without the names that are new in each run: two runs of one config on one host have the same. */
function planFingerprint({ planned, directory }: ManifestInput): string {
  const { backend, argv, mounts, filter, enforced, notEnforced } = planned.plan
  const text = JSON.stringify({ backend, argv, mounts, filter, enforced, notEnforced })
  return fingerprint(
    text.replaceAll(planned.scratch, '{scratch}').replaceAll(directory, '{run}').replaceAll(planned.id, '{sandbox}'),
  )
}
