// A fork that was made and not started. Nothing is at work on it, so it needs no process and has not crashed.
import type { RunRecord } from '../../contract/run.ts'

export const isPrepared = ({ status, forked_from: origin }: Pick<RunRecord, 'status' | 'forked_from'>): boolean =>
  status === 'pending' && origin !== null
