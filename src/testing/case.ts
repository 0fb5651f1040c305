// What a conformance case is, and what it may use. A case knows a backend only through the contract, so the
// same sentence can be proved of any mechanism, including one that nobody here has seen.
import type { Backend, Boundary, SandboxSpec } from '../contract/backend.ts'
import type { Capability } from '../contract/capability.ts'
import type { MountMode } from '../contract/mount.ts'
import type { EffectivePolicy, OperatorPolicy, PolicyValues } from '../contract/policy.ts'
import type { Sandbox } from '../contract/sandbox.ts'

export interface CaseMount {
  readonly guestPath: string
  readonly hostPath: string
  readonly mode?: MountMode
}

export interface CaseSandboxOptions {
  /** Default: a fresh directory at /workspace. */
  readonly mounts?: readonly CaseMount[]
  /** The operator's layer. */
  readonly settings?: OperatorPolicy
  /** The caller's layer, under the operator's ceilings. */
  readonly request?: PolicyValues
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface CaseSpecOptions {
  readonly mounts?: readonly CaseMount[]
  readonly policy?: Partial<EffectivePolicy>
  readonly env?: Readonly<Record<string, string>>
}

/** A sandbox that several cases share, with the host directories behind its mounts. */
export interface Scene {
  readonly sandbox: Sandbox
  /** The host directory behind a mount's guest path. */
  host(guestPath: string): string
}

export interface OpenBoundary {
  readonly boundary: Boundary
  readonly workspace: string
}

/** One directory that belongs to a case alone, as both sides call it. */
export interface Room {
  readonly guest: string
  readonly host: string
}

export type SceneName = 'plain' | 'nested' | 'readonly' | 'vault' | 'guarded' | 'hidden' | 'deleting'

export interface Subject {
  readonly backend: Backend
  /** The host directory behind /workspace of the scene `plain`. */
  readonly workspace: string
  /** Made at first use and shared by the cases that need no more isolation than a room. */
  scene(name: SceneName): Promise<Scene>
  /** This case's own directory below /workspace of the scene. */
  room(scene: Scene): Promise<Room>
  /** A fresh host directory that no sandbox knows of yet. */
  directory(): Promise<string>
  /** A sandbox of this case alone; killed when the case ends. */
  create(options?: CaseSandboxOptions): Promise<Sandbox>
  /** A boundary below the runtime, from a hand-made spec; destroyed when the case ends. */
  boundary(options?: CaseSpecOptions): Promise<OpenBoundary>
  spec(options?: CaseSpecOptions): Promise<SandboxSpec>
}

export interface ConformanceCase {
  /** A sentence of the law; in the words of the contract where the contract has one. */
  readonly title: string
  /** A backend without one of these is skipped, with the reason in sight. */
  readonly requires?: readonly Capability[]
  /** The case is about a backend that cannot do these. */
  readonly lacks?: readonly Capability[]
  run(subject: Subject): Promise<void>
}

export interface CaseGroup {
  readonly about: string
  readonly cases: readonly ConformanceCase[]
}
