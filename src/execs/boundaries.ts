// What this room knows of sandboxes: it asks for one that shows three directories, has one command run in it, and is told how
// the command ended. Who makes it, and with what, is handed in.
import type { BackendImage } from '../contract/backend.ts'
import type { Ended } from '../contract/exec.ts'
import type { EffectivePolicy, PolicyValues, ResolvedPolicy } from '../contract/policy.ts'
import type { Redaction } from '../contract/redaction.ts'
import type { SecretUse } from '../contract/vault.ts'
import type { ExecMount } from './layout.ts'

export interface BoundaryRequest {
  readonly execId: string
  readonly mounts: readonly ExecMount[]
  readonly values: PolicyValues
  /** Null: the backend's own, if it has any. */
  readonly image: string | null
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  /** Reaches the guest's process and nothing else. */
  readonly env: Readonly<Record<string, string>>
  /** So do their values. */
  readonly secrets: readonly SecretUse[]
}

export interface Following {
  /** They keep no chunk. */
  readonly onStdout: (chunk: Uint8Array) => void | Promise<void>
  readonly onStderr: (chunk: Uint8Array) => void | Promise<void>
  readonly signal: AbortSignal
  /** Another server has it: it is followed no more, and goes on. */
  readonly letGo?: AbortSignal
}

export interface Beginning extends Following {
  /** Called when everything is made and nothing has run. Throws where nothing may run any more. */
  readonly onBeginning: () => void
}

/** A boundary that is planned, and not made before its command is run. */
export interface Prepared {
  readonly boundaryId: string
  /** In what it will run, and in nothing else. Null: in the host's own system. */
  readonly image: BackendImage | null
  /** In force in it. */
  readonly policy: EffectivePolicy
  /** Once. Rejects where nothing has run. */
  run(beginning: Beginning): Promise<Ended>
  /** Ends everything inside, and takes away what the boundary put into the mounts. */
  close(): Promise<void>
  /** Its end is written down, and nobody will look for it again. */
  forget?(): Promise<void>
}

export interface FoundAgain {
  /** Since the command began. */
  elapsedMs(): number
  /** It may have ended when no server was there. 0 where it has not, or nobody can tell. */
  endedAgoMs(): number
  /** Output from these places on: what was there before has been written down. */
  run(following: Following & { readonly from: { readonly stdout: number; readonly stderr: number } }): Promise<Ended>
  close(): Promise<void>
  forget(): Promise<void>
}

export interface CheckedSecrets {
  readonly names: readonly string[]
  readonly variables: readonly string[]
}

export interface Boundaries {
  readonly backend: string
  /** Throws where the request asks for more than it may. */
  resolve(values: PolicyValues): ResolvedPolicy
  /** Throws INVALID_ENV. */
  checkEnvironment(env: Readonly<Record<string, string>>): void
  /** Throws INVALID_INPUT; else what they are, and which variables they set. */
  checkSecrets(uses: readonly SecretUse[]): CheckedSecrets
  /** Knows every value that was handed out. */
  readonly redaction?: Redaction
  /** Throws where there are no images, or none of that name can be used. */
  checkImage(image: string): Promise<void>
  prepare(request: BoundaryRequest): Promise<Prepared>
  /** A command that went on without its server; or that never began. Undefined: it is gone. Absent: none goes on. */
  findAgain?(boundaryId: string, limits: { readonly timeoutMs: number }): Promise<FoundAgain | 'unbegun' | undefined>
  /** Those of dead servers that nobody will look for are taken away. */
  sweep?(keep: () => Promise<ReadonlySet<string>>): Promise<void>
  /** Whatever is left of a boundary whose server died. */
  destroy(boundaryId: string): Promise<void>
}
