// The library's door.
import type { Backend, BackendName } from './contract/backend.ts'
import {
  operatorPolicySchema,
  policyValuesSchema,
  type OperatorPolicy,
  type PolicyLayer,
  type PolicyValues,
} from './contract/policy.ts'
import type { Sandbox as SandboxContract } from './contract/sandbox.ts'
import type { VaultSource } from './contract/vault.ts'
import { checkShape } from './runtime/check-shape.ts'
import { createSandbox } from './runtime/create.ts'
import type { MountRequest } from './runtime/mount-text.ts'

export interface SandboxOptions {
  /** Default: the platform's own. `local` isolates nothing and must be named. */
  readonly backend?: BackendName | Backend
  /** For the backend docker: its image, and the container runtime; `runsc` is gVisor. */
  readonly docker?: { readonly image?: string | undefined; readonly runtime?: string | undefined }
  /** Default: one empty workspace at /workspace that ends with the sandbox. */
  readonly mounts?: readonly MountRequest[]
  /** What is asked for. Above a ceiling it is refused with POLICY_ESCALATION. */
  readonly policy?: PolicyValues
  /** What the operator decides: values, and the ceilings for everything that is asked. */
  readonly settings?: OperatorPolicy
  /** Values for the guest's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** By name: where the values of secrets come from. Each stands at /vaults/<name>, with its names only. */
  readonly vaults?: Readonly<Record<string, VaultSource>>
  readonly cwd?: string
}

export type Sandbox = SandboxContract

export const Sandbox = {
  async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const { policy, settings, ...rest } = options
    const layers: PolicyLayer[] = []
    if (settings !== undefined)
      layers.push({
        layer: 'settings',
        source: 'Sandbox.create settings',
        values: checkShape('settings', operatorPolicySchema, settings),
      })
    if (policy !== undefined)
      layers.push({
        layer: 'request',
        source: 'Sandbox.create policy',
        values: checkShape('policy', policyValuesSchema, policy),
      })
    return createSandbox({ ...rest, layers })
  },
}

export { backendNames, openBackend } from './backends/registry.ts'
export { GloveboxError, isGloveboxError } from './errors/error.ts'
export { errorTable, type ErrorCode } from './errors/table.ts'
export { renderForAgent, renderForOperator } from './errors/render.ts'
export { tools } from './tools/tools.ts'
export {
  createProviderHolder,
  getProvider,
  openProvider,
  resetProvider,
  setProvider,
  shutdownProvider,
} from './runtime/pool/holder.ts'
export type { ProviderHolder, ProviderOptions } from './runtime/pool/holder.ts'
export type { MemberRequest } from './runtime/pool/request.ts'
export { createRunContext, resolveSandboxPath, runs, updateRunState } from './runtime/runs/library.ts'
export type { FinishedRun } from './runtime/runs/start.ts'
export type { RunContext, RunExecutor, StartOptions } from './runtime/runs/library.ts'
export type {
  Backend,
  BackendName,
  Boundary,
  Plan,
  Probe,
  Process,
  SandboxSpec,
  SpawnRequest,
} from './contract/backend.ts'
export type { Capabilities, Capability } from './contract/capability.ts'
export type { Catalog } from './contract/catalog.ts'
export type { Denial } from './contract/denial.ts'
export type { Artifact, ArtifactManifest, SandboxManifest } from './contract/artifact.ts'
export type { RunEvent } from './contract/event.ts'
export type { Ended, ExecResult, RunOptions } from './contract/exec.ts'
export type { Assignment, Executor, Outcome, Progress, Question } from './contract/executor.ts'
export type { FileAccess, FileStat } from './contract/files.ts'
export type { Mount, MountMode } from './contract/mount.ts'
export type { EffectivePolicy, OperatorPolicy, PolicyValues } from './contract/policy.ts'
export type { AcquireOptions, OpenProvider, Provider, SandboxKey } from './contract/provider.ts'
export type { Deliverable, RunRecord, RunStatus, SessionRecord, TaskRecord } from './contract/run.ts'
export type { Description, GlobResult, GrepResult, Provisioned, Resources } from './contract/sandbox.ts'
export type { DescribedVault, SecretUse, VaultSource } from './contract/vault.ts'
