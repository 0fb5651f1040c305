// Backend and Boundary: the whole of what a mechanism must offer. Everything above is written once
// against these and serves every backend. Each sentence marked "Law" has a conformance test in the same words.
// Only words that every mechanism can keep stand here: it knows of no bubblewrap, no container and no cluster.
import type { Readable, Writable } from 'node:stream'
import type { BackendName } from './backend-name.ts'
import type { Capabilities, Enforced, NotEnforced } from './capability.ts'
import type { FileAccess } from './files.ts'
import type { SandboxId } from './ids.ts'
import type { LastingCommands } from './lasting.ts'
import type { GuestPath, HostPath, Mount } from './mount.ts'
import type { EffectivePolicy, PolicyField } from './policy.ts'
import type { TerminalSize } from './terminal.ts'
import type { SpawnSecrets } from './vault.ts'

export type { BackendName } from './backend-name.ts'

export interface Probe {
  readonly available: boolean
  readonly version?: string
  /** Why not, if not available; else what the operator should know. */
  readonly reason?: string
  /** The exact command or setting that mends it. */
  readonly fix?: string
  /** Remarks about an available backend: an old version, a limit that cannot be set here. */
  readonly notes?: readonly string[]
  /** What it is driven by, for the operator: the program, the context. */
  readonly details?: Readonly<Record<string, string>>
}

/** HOME, TMPDIR and cache belong to the agent and outlive a command. */
export interface AgentHome {
  readonly guestPath: GuestPath
  readonly hostPath: HostPath
}

/** All that a backend may know about the sandbox that it is to make. */
export interface SandboxSpec {
  readonly mounts: readonly Mount[]
  readonly home: AgentHome
  readonly cwd: GuestPath
  readonly policy: EffectivePolicy
  readonly demanded: ReadonlySet<PolicyField>
  /** The guest's whole environment; per-exec values are laid over it. */
  readonly env: Readonly<Record<string, string>>
  /** Files about the sandbox itself, written by the host. Shown read-only, over whatever a mount has at the same path. */
  readonly catalog?: CatalogPlace
}

export interface CatalogPlace {
  readonly guestPath: GuestPath
  readonly hostPath: HostPath
}

/** What a backend would do, as data. Printable: `explain` shows it, golden files hold it. */
export interface Plan {
  readonly backend: BackendName
  readonly spec: SandboxSpec
  /** The command line (or its equivalent) with the guest's command left open as `…`. */
  readonly argv: readonly string[]
  /** Mounts in the order in which they are laid, in words. */
  readonly mounts: readonly string[]
  /** Rules of the system-call filter (or its equivalent), in words. */
  readonly filter: readonly string[]
  /** What commands are run in, and nothing else under that name. Absent: the host's own system. */
  readonly image?: BackendImage
  readonly enforced: readonly Enforced[]
  readonly notEnforced: readonly NotEnforced[]
}

/** A name may be given to another image at any time; an id may not. */
export interface BackendImage {
  /** As it was asked for. */
  readonly name: string
  readonly id: string
}

export interface Backend {
  readonly name: BackendName
  /** What it can enforce on this host, as data. */
  readonly capabilities: Capabilities
  probe(): Promise<Probe>
  /** Does the mechanism as a whole answer now? Cheap: a probe that went well is believed for a while only as long as it does. Absent:
   * there is nobody who could stop answering. */
  answers?(): Promise<boolean>
  /** What it runs commands with was there when it was opened, and is known to be gone: it refuses what is new until that is back. Asks
   * nobody. Absent: that never happens. */
  isGone?(): boolean
  /** Before a plan that is to be carried out: what commands run with is looked for again where it is known to be gone, and
   * BACKEND_UNAVAILABLE where there is none. Absent: it never goes. */
  ready?(): Promise<void>
  /** Law: compile is pure; the same spec gives the same plan. */
  compile(spec: SandboxSpec): Plan
  create(id: SandboxId, plan: Plan): Promise<Boundary>
  /** `create` starts nothing that goes on: a boundary costs no process before its first command. Absent: it may. */
  readonly createsAtRest?: boolean
  /** Law: discover finds a boundary that this process made, and nothing else is invented. */
  discover(id: SandboxId): Promise<Boundary | undefined>
  list(): Promise<readonly BoundaryInfo[]>
  /** Law: destroy is idempotent, and ends everything that runs inside. */
  destroy(id: SandboxId): Promise<void>
  /** Commands that outlive the process that started them. Absent: none does. */
  readonly lasting?: LastingCommands
  /** Lays the layers of a mount and takes them away again; rejects where they cannot be laid. Absent: they never can. */
  tryLayers?(mount: Mount): Promise<void>
  /** Gives back what the backend itself holds: threads, descriptors. Whoever opened it calls this last, and once. */
  close?(): Promise<void>
}

export interface BoundaryInfo {
  readonly id: SandboxId
  readonly backend: BackendName
}

/** All that the rest of the system needs of a live boundary. */
export interface Boundary {
  readonly id: SandboxId
  spawn(request: SpawnRequest): Promise<Process>
  /** Law: file access reaches exactly the mounts, by descriptor, and never leaves them. */
  readonly files: FileAccess
  /** The path, inside, of the program that searches files. */
  readonly searchProgram: string
  /** The path, inside, of the shell that runs a command given as text. */
  readonly shell: string
  /** What a command given as text becomes before a shell that is open already reads it from its input. Absent: itself. */
  commandText?(text: string): string
  // Law: prepare makes ready what a first command needs, and keeps it ready until one comes.
  /** Absent: creating does so already. `briefly`: somebody is about to come; it need not be kept for longer than after a command. */
  prepare?(options?: { readonly briefly?: boolean }): Promise<void>
  // Law: narrow holds every later command to less than what the boundary was made with, and never to more.
  /** To be called before the first command. False, with nothing changed, where the mechanism cannot. Absent: it never can. */
  narrow?(limits: NarrowableLimits): Promise<boolean>
  /** At this moment. Absent: nobody counts. */
  usage?(): Promise<BoundaryUsage>
}

/** What runs in a boundary, as far as the mechanism counts it. */
export interface BoundaryUsage {
  readonly memoryBytes?: number
  readonly pids?: number
  /** Since the boundary was made. */
  readonly cpuMs?: number
  /** Of the three above, those that this mechanism cannot tell here, and why. */
  readonly notCounted?: readonly NotCounted[]
}

export interface NotCounted {
  readonly what: 'memoryBytes' | 'pids' | 'cpuMs'
  readonly why: string
}

/** What can still be taken from a boundary that stands. Other rules are walls, and stay as they were built. */
export type NarrowableLimits = Pick<EffectivePolicy, 'memoryMb' | 'cpuCores' | 'pids' | 'fileSizeMb'>

export interface SpawnRequest {
  /** Law: argv is passed as it is; no shell sees it unless it names one. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd: GuestPath
  /** Laid over the sandbox's environment. Reaches the guest's process only, never a helper's. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin: 'none' | 'pipe'
  /** Only for mechanisms that hold `secrets.scoped`.
   * Law: what a command is given as secrets is gone with it, and no other command of the sandbox can come by it. */
  readonly secrets?: SpawnSecrets
  /** Law: with pty the command has a terminal of its own, of that size, which is its controlling one; all that it writes comes by
   * stdout, and it reads what is written to stdin, whatever the request says of that. */
  readonly pty?: TerminalSize
}

export interface ProcessExit {
  /** As the mechanism told it. Exactly one of the four is set. */
  readonly code?: number
  readonly signal?: string
  /** Nobody can know how the command ended. */
  readonly lost?: string
  /** The boundary failed before the command began: nothing of it has run. Written for the operator. */
  readonly setupFailed?: string
  /** With `setupFailed`: the mechanism as a whole gave no answer, and another command would have fared no better. */
  readonly unavailable?: boolean
  /** The kernel ended something inside for want of memory while this command ran. */
  readonly oomKilled?: boolean
}

export interface Process {
  /** Null when the request said `none`. */
  readonly stdin: Writable | null
  readonly stdout: Readable
  readonly stderr: Readable
  /** Law: exit settles when the command has ended and nothing that it started is alive. Never rejects. */
  readonly exit: Promise<ProcessExit>
  /** Law: kill ends the whole tree, and may be called at any time and twice. */
  kill(): void
  /** Absent without a terminal. Law: resize reaches the program in the foreground as SIGWINCH; after the end it does nothing. */
  resize?(size: TerminalSize): void
}
