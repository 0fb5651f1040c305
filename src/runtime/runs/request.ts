// All that has to be said to start a run. Whoever asks, command line or library, says it in these words.
import type { Executor, Progress } from '../../contract/executor.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { CreateRunOptions } from '../../runs/run.ts'
import type { CreateOptions } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import type { AskedHere } from './mailbox.ts'

type Identity = Pick<
  CreateRunOptions,
  | 'sessionId'
  | 'taskId'
  | 'profileId'
  | 'sessionTitle'
  | 'taskTitle'
  | 'deliverables'
  | 'review'
  | 'revisionOf'
  | 'forkedFrom'
  | 'beginning'
>

export interface RunRequest extends Identity, RunWatching {
  readonly prompt: string
  /** Default: one is made. */
  readonly runId?: string | undefined
  /** Host path of the run directory. Default: `runs/<run id>` in the current directory. */
  readonly sandboxPath?: string | undefined
  readonly executor: Executor
  /** The resolved config, and its bytes if a person wrote them. */
  readonly config: Readonly<Record<string, unknown>>
  readonly configText?: string
  readonly sandbox: RunSandbox
  /** Host paths of files and directories that are copied into the workspace. */
  readonly inputs?: readonly string[]
}

/** The run's own mounts, /workspace and /deliverables, are always there. */
export interface RunSandbox extends Pick<CreateOptions, 'backend' | 'layers' | 'env' | 'vaults' | 'ownsProcess'> {
  readonly mounts?: readonly MountRequest[]
}

export interface RunWatching {
  /** Ends the work; the run is then `cancelled`. */
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
  readonly onProgress?: (progress: Progress) => void
  readonly onQuestion?: (asked: AskedHere) => void
}
