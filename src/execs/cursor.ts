// How far a reader of a stream has come, as the id of the last event: which states it was told, and how many bytes of each
// output. It is all that a stream depends on, so that any server can go on where another one stopped.
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'

export interface Cursor {
  /** 0: none. 1: QUEUED. 2: RUNNING. 3: the end. */
  readonly told: number
  readonly stdout: number
  readonly stderr: number
}

export const beginning: Cursor = { told: 0, stdout: 0, stderr: 0 }

/** The last state before the end, as `told` has it. One that ended in the queue never ran, and one that was refused never waited. */
export function lastState({ status, started_at }: Pick<ExecRow, 'status' | 'started_at'>): number {
  if (status === 'POLICY_DENIED') return 0
  return status === 'RUNNING' || (hasEnded(status) && started_at !== null) ? 2 : 1
}

export const formatCursor = ({ told, stdout, stderr }: Cursor): string => `${told}.${stdout}.${stderr}`

export function parseCursor(text: string): Cursor {
  const [, told, stdout, stderr] = /^([0-3])\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? []
  if (told === undefined) throw noneOfItsIds()
  return { told: Number(told), stdout: Number(stdout), stderr: Number(stderr) }
}

export const noneOfItsIds = (): GloveboxError =>
  new GloveboxError('INVALID_CURSOR', 'Cannot go on with the stream: Last-Event-ID is none of its ids', {
    hint: 'Send the id of the last event that was read, as it came; or none, to begin anew.',
  })

export const isOver = ({ told }: Cursor): boolean => told === 3
