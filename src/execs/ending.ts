// How an exec ended, in the words of its record. Pure. `LOST` means that nobody can know; it is never guessed.
import { constants } from 'node:os'
import type { Ended } from '../contract/exec.ts'
import type { ExecStatus } from '../contract/store.ts'
import { isGloveboxError } from '../errors/error.ts'
import { isFull } from './storage-fault.ts'

export interface Ending {
  readonly status: ExecStatus
  readonly exit_code: number | null
  readonly error_reason: string | null
}

/** Why a command was ended from here. */
export type Stopped = 'cancelled' | 'drained' | 'artifacts_limit_exceeded'

const ending = (status: ExecStatus, error_reason: string | null, exit_code: number | null = null): Ending => ({
  status,
  exit_code,
  error_reason,
})

export function endingOf(ended: Ended, stopped: Stopped | undefined): Ending {
  switch (ended.by) {
    case 'exit':
      return ended.code === 0 ? ending('SUCCEEDED', null, 0) : ending('FAILED', 'exit_nonzero', ended.code)
    case 'signal':
      return ending('FAILED', 'signal', 128 + signalNumber(ended.signal))
    case 'timeout':
      return ending('TIMEOUT', 'timeout')
    case 'oom':
      return ending('OOM', 'oom', 137)
    case 'lost':
      return ending('LOST', 'backend_lost')
    case 'cancel':
      return stoppedEnding(stopped)
  }
}

export const stoppedEnding = (stopped: Stopped = 'cancelled'): Ending =>
  stopped === 'artifacts_limit_exceeded' ? ending('FAILED', stopped) : ending('CANCELLED', stopped)

/** The guest left more than it may: its own end stays told by the exit code. */
export const overLimit = ({ exit_code, status, error_reason }: Ending): Ending =>
  status === 'SUCCEEDED' || status === 'FAILED'
    ? ending('FAILED', 'artifacts_limit_exceeded', exit_code)
    : ending(status, error_reason, exit_code)

/** What an exec needs and no record holds is gone: it must not run with less than it asked for. */
export class EnvironmentLost extends Error {}

/** Something of ours threw; a boundary that could not be made has run nothing. */
export function failureOf(error: unknown, stopped: Stopped | undefined): Ending {
  if (error instanceof EnvironmentLost) return ending('FAILED', 'environment_lost')
  if (!isGloveboxError(error)) return ending('FAILED', isFull(error) ? 'disk_full' : 'internal')
  if (error.code === 'CANCELLED') return stoppedEnding(stopped)
  if (error.code.startsWith('POLICY_')) return ending('POLICY_DENIED', error.code.toLowerCase())
  return ending('FAILED', error.code === 'NO_SPACE' ? 'disk_full' : error.code.toLowerCase())
}

const signalNumber = (name: string): number =>
  (constants.signals as Readonly<Record<string, number>>)[name] ?? (Number(name.slice(3)) || 0)
