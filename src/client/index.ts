// Glovebox from afar: the library's shape over a server's routes. It promises that what changes something is sent once, or
// under a key by which the server knows it again; that streams go on behind a broken connection, every byte once; and that
// errors are the library's own. It uses fetch, streams and timers, which every platform has, and nothing of Node's: it runs
// in a browser as it is. It must not know how the server does what it is asked.
import type { Sandbox as SandboxContract } from '../contract/sandbox.ts'
import { type Attachment, type AttachOptions, attachTerminal } from './attach.ts'
import { type Execs, remoteExecs } from './execs.ts'
import { remoteRuns, type Runs } from './runs.ts'
import { remoteSandboxes, type Sandboxes, type SandboxRequest } from './sandbox.ts'
import { openServer, type ServerOptions } from './server.ts'

export interface Terminals {
  /** A person's connection to a terminal, which goes on without it. */
  attach(sandboxId: string, shellId: string, options?: AttachOptions): Promise<Attachment>
}

export interface Glovebox {
  readonly sandboxes: Sandboxes
  readonly runs: Runs
  readonly execs: Execs
  readonly terminals: Terminals
}

/** Nothing is sent yet. */
export function connect(options: ServerOptions): Glovebox {
  const server = openServer(options)
  return {
    sandboxes: remoteSandboxes(server),
    runs: remoteRuns(server),
    execs: remoteExecs(server),
    terminals: {
      attach: (sandboxId, shellId, options = {}) =>
        attachTerminal(
          server,
          `/sandboxes/${encodeURIComponent(sandboxId)}/shells/${encodeURIComponent(shellId)}`,
          options,
        ),
    },
  }
}

export type Sandbox = SandboxContract

type CreateOptions = ServerOptions & SandboxRequest & { readonly signal?: AbortSignal }

export const Sandbox = {
  /** A new one, with an empty workspace of its own. `await using` ends it. */
  create({ url, token, retry, answerMs, silentMs, fetch, ...request }: CreateOptions): Promise<Sandbox> {
    return connect(serverOf({ url, token, retry, answerMs, silentMs, fetch })).sandboxes.create(request)
  },
  /**
   * The one with this id, which `await using` only lets go of: who made it ends it, or `kill` does.
   * Without an id a new one, as `create` makes it.
   */
  connect({ id, ...options }: CreateOptions & { readonly id?: string }): Promise<Sandbox> {
    if (id === undefined) return Sandbox.create(options)
    const { signal } = options
    return connect(options).sandboxes.connect(id, signal === undefined ? {} : { signal })
  },
}

/** An option that was given as undefined was not given. */
const serverOf = (options: { [Name in keyof ServerOptions]: ServerOptions[Name] | undefined }): ServerOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as unknown as ServerOptions

export { GloveboxError, isGloveboxError } from '../errors/error.ts'
export { errorTable, type ErrorCode } from '../errors/table.ts'
export type { Artifact, ArtifactManifest } from '../contract/artifact.ts'
export type { Catalog } from '../contract/catalog.ts'
export type { Denial } from '../contract/denial.ts'
export type { RunEvent } from '../contract/event.ts'
export type { ExecArtifacts, ExecHealth, ExecRecord, ExecRequest } from '../contract/exec-record.ts'
export type { Ended, ExecResult, RunOptions } from '../contract/exec.ts'
export type { FileStat, ListResult } from '../contract/files.ts'
export type { PolicyValues } from '../contract/policy.ts'
export type { Deliverable, RunRecord, RunStatus } from '../contract/run.ts'
export type { Description, GlobResult, GrepResult } from '../contract/sandbox.ts'
export type { Attachment, AttachOptions, OpenSocket, SocketLike } from './attach.ts'
export type { Shell, ShellInfo, ShellResult, Terminal, TerminalChunk, TerminalEnd } from '../contract/shell.ts'
export type { Execs, ExecCreateOptions, ExecFilter, ExecRunOptions, StreamedExecEvent } from './execs.ts'
export type { Page, PageOptions } from './pages.ts'
export type { RetryRules } from './retry.ts'
export type { RunCreateRequest, RunDetail, RunFilter, RunQuestion, Runs, RunSummary } from './runs.ts'
export type {
  PoolStats,
  ProvisionRequest,
  RemoteProvisioned,
  SandboxDetail,
  SandboxState,
  SandboxSummary,
  SnapshotFilter,
  Snapshots,
  SnapshotSummary,
} from './lifetimes.ts'
export type { SandboxFilter, Sandboxes, SandboxRequest } from './sandbox.ts'
export type { ServerOptions } from './server.ts'
