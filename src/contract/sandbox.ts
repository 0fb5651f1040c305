// The sandbox as its users hold it.
import type { BackendName } from './backend-name.ts'
import type { Enforced, NotEnforced } from './capability.ts'
import type { Catalog } from './catalog.ts'
import type { ExecResult, RunOptions } from './exec.ts'
import type { FileStat, ListResult } from './files.ts'
import type { SandboxId } from './ids.ts'
import type { MountMode } from './mount.ts'
import type { ExplainedField } from './policy.ts'
import type { SandboxShells } from './shell.ts'
import type { DescribedVault, VaultSource } from './vault.ts'

/** Tells the truth about a sandbox, in the guest's words: no host path appears. */
export interface Description {
  readonly id: SandboxId
  readonly backend: BackendName
  readonly sandboxed: boolean
  readonly cwd: string
  readonly networkMode: string
  readonly homeDir: string
  readonly tmpDir: string
  readonly cacheDir: string
  readonly mounts: readonly { readonly guestPath: string; readonly mode: MountMode }[]
  /** Names only, and which of them policy grants. */
  readonly vaults: readonly DescribedVault[]
  readonly policy: readonly ExplainedField[]
  readonly enforced: readonly Enforced[]
  readonly notEnforced: readonly NotEnforced[]
  /** Names only. */
  readonly environment: readonly string[]
  /** Where the agent finds files about itself; null where there are none. `catalog()` gives what is in them. */
  readonly catalog: { readonly guestPath: string; readonly version: number } | null
}

export interface GrepMatch {
  readonly path: string
  readonly line: number
  readonly text: string
}

export interface GrepResult {
  readonly matches: readonly GrepMatch[]
  readonly truncated: boolean
  readonly skippedLargeFiles: number
  readonly skippedBinaryFiles: number
}

export interface GlobResult {
  readonly paths: readonly string[]
  readonly truncated: boolean
}

export interface GrepOptions {
  readonly path?: string
  readonly glob?: string
  readonly literal?: boolean
  readonly caseSensitive?: boolean
  readonly maxResults?: number
  readonly includeIgnored?: boolean
  readonly signal?: AbortSignal
}

export interface GlobOptions {
  readonly path?: string
  readonly includeDirs?: boolean
  readonly maxResults?: number
  readonly includeIgnored?: boolean
  readonly signal?: AbortSignal
}

export interface SandboxCommands {
  /** A string is run by the shell; an array is run as it is. */
  run(command: string | readonly [string, ...string[]], options?: RunOptions): Promise<ExecResult>
}

export interface SandboxFiles {
  read(path: string, options?: { readonly startLine?: number; readonly endLine?: number }): Promise<string>
  readBytes(path: string): Promise<Uint8Array>
  write(
    path: string,
    content: string | Uint8Array,
    options?: { readonly append?: boolean; readonly expectedSha256?: string | null },
  ): Promise<void>
  list(path?: string): Promise<ListResult>
  stat(path: string): Promise<FileStat>
  exists(path: string): Promise<boolean>
  mkdir(path: string): Promise<void>
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>
  rename(from: string, to: string): Promise<void>
  glob(pattern: string, options?: GlobOptions): Promise<GlobResult>
  grep(pattern: string, options?: GrepOptions): Promise<GrepResult>
}

/** What comes and what goes. Removing comes first, so that one thing can take another's place. */
export interface Resources {
  readonly mounts?: {
    readonly add?: readonly { readonly guestPath: string; readonly hostPath: string; readonly mode?: MountMode }[]
    /** Guest paths. */
    readonly remove?: readonly string[]
  }
  readonly vaults?: {
    /** By name; each stands at /vaults/<name>. */
    readonly add?: Readonly<Record<string, VaultSource>>
    readonly remove?: readonly string[]
  }
}

export interface Provisioned {
  /** What of the sandbox's state did not survive it, in words. Files, home and policy always do. */
  readonly lost: readonly string[]
}

export interface Sandbox extends AsyncDisposable {
  readonly id: SandboxId
  readonly commands: SandboxCommands
  readonly files: SandboxFiles
  readonly shells: SandboxShells
  describe(): Description
  execute(name: string, input: unknown, options?: { readonly signal?: AbortSignal }): Promise<unknown>
  /** Law: provision changes mounts and vaults between commands, wholly or not at all; while one runs it is refused with BUSY. */
  provision(resources: Resources): Promise<Provisioned>
  /** What the files of the catalog say at this moment, as one document. */
  catalog(): Promise<Catalog>
  /** Law: kill ends everything inside and is idempotent; afterwards every call is refused with SANDBOX_GONE. */
  kill(): Promise<void>
}
