// What the launcher and its thread say to each other. Descriptors are plain numbers: both are one process.

/** A host file or directory, pinned by identity so that a swap between the two threads' looks is noticed. */
export interface StageRequest {
  readonly hostPath: string
  readonly device: number
  readonly inode: number
  readonly ownerUid: number
  readonly ownerGid: number
}

export interface PinnedDirectory {
  readonly hostPath: string
  readonly device: number
  readonly inode: number
}

/** Directories that are to be seen as one, with all changes going into `upper`. */
export interface LayerRequest {
  readonly upper: PinnedDirectory
  readonly work: string
  /** Nearest first. */
  readonly lower: readonly PinnedDirectory[]
  readonly ownerUid: number
  readonly ownerGid: number
}

export interface LaidLayers {
  /** Where bwrap finds them. */
  readonly target: string
  /** The same place for the host's own file access. Whoever gets the answer closes it. */
  readonly descriptor: number
}

export interface LaunchRequest {
  readonly file: string
  readonly args: readonly string[]
  readonly stdio: readonly number[]
  /** Closed by the thread once the child has its copies. */
  readonly childEnds: readonly number[]
  /** Whoever asks will see the child's end by himself, and say so with `ended`. */
  readonly seesEnd: boolean
}

export type ToThread =
  | { readonly kind: 'stage'; readonly serial: number; readonly request: StageRequest }
  | { readonly kind: 'layer'; readonly serial: number; readonly request: LayerRequest }
  | { readonly kind: 'unstage'; readonly serial: number; readonly target: string }
  | { readonly kind: 'launch'; readonly serial: number; readonly request: LaunchRequest }
  | { readonly kind: 'ended'; readonly serial: number; readonly pid: number }
  | { readonly kind: 'close'; readonly serial: number }

export type Answer = string | number | LaidLayers

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly serial: number; readonly value: Answer }
  | { readonly kind: 'failed'; readonly serial: number; readonly what: string; readonly code?: string }
  | {
      readonly kind: 'exited'
      readonly pid: number
      readonly code: number | null
      readonly signal: NodeJS.Signals | null
    }

export interface ThreadData {
  readonly bwrapPath: string
  readonly kernelId: number
}
