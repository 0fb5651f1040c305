// How much of a server one token may have, and how much there is.
import { availableParallelism } from 'node:os'
import { GloveboxError } from '../../errors/error.ts'
import { pausedForMs } from '../pool/life.ts'
import type { AtWork } from './at-work.ts'

const minute = 60_000

export interface SandboxLimits {
  /** Paused ones too: their files cost the disk. */
  readonly perToken: number
  /** They have no life of their own: each is kept until somebody deletes it. */
  readonly snapshotsPerToken: number
  /**
   * In making at the same time, of all tokens in turn, each until its first process stands. As many as keep the host busy: were there
   * more, all of a crowd would be served last, instead of one after another.
   */
  readonly making: number
  /** Open at the same time. */
  readonly total: number
  readonly lifeMs: number
  /** What may be asked for at a time. */
  readonly maxLifeMs: number
  /** From its making on, whatever was asked for since; pauses count. */
  readonly maxAgeMs: number
  readonly idleMs: number
  /** For a place, or for another process that has the sandbox. */
  readonly waitMs: number
  /** What may be uploaded into one sandbox. */
  readonly uploadBytes: number
  readonly uploadFiles: number
  /** Output of commands that have ended, of all sandboxes together. */
  readonly keptOutputBytes: number
  /** Output of commands that run, or are still followed or answered: of one token, and of all. */
  readonly outputBytesPerToken: number
  readonly outputBytes: number
  /** Runs at work, each in a sandbox of its own. */
  readonly runs: number
}

export const defaultSandboxLimits: SandboxLimits = {
  perToken: 128,
  snapshotsPerToken: 256,
  making: 2 * availableParallelism(),
  total: 1024,
  lifeMs: 60 * minute,
  maxLifeMs: 24 * 60 * minute,
  maxAgeMs: pausedForMs,
  idleMs: 30 * minute,
  waitMs: 10_000,
  uploadBytes: 1024 * 1024 * 1024,
  uploadFiles: 20_000,
  keptOutputBytes: 128 * 1024 * 1024,
  outputBytesPerToken: 128 * 1024 * 1024,
  outputBytes: 256 * 1024 * 1024,
  runs: 32,
}

export interface Admitted {
  /** Of one token. */
  readonly most: number
  /** How many of them are there. */
  readonly count: (tokenId: string) => number
  readonly what: 'sandboxes' | 'snapshots'
  /** The making of each is work. */
  readonly work: Pick<AtWork, 'begin'>
}

/** Counts those that are there and those in making: all that are wanted, or none of them. What it returns is called when the making has
 * ended. */
export function admittance({ most, count, what, work }: Admitted): (tokenId: string, wanted?: number) => () => void {
  const making = new Map<string, number>()
  return (tokenId, wanted = 1) => {
    const underway = making.get(tokenId) ?? 0
    if (count(tokenId) + underway + wanted > most) throw quota(`a token may have ${most} ${what}`, what)
    making.set(tokenId, underway + wanted)
    const end = work.begin()
    return () => {
      end()
      const left = (making.get(tokenId) ?? wanted) - wanted
      if (left === 0) making.delete(tokenId)
      else making.set(tokenId, left)
    }
  }
}

export function uploadCounter(limits: SandboxLimits): (bytes: number) => void {
  let bytes = 0
  let files = 0
  return (more) => {
    if (bytes + more > limits.uploadBytes || files + 1 > limits.uploadFiles)
      throw quota(
        `at most ${limits.uploadFiles} files and ${limits.uploadBytes} bytes may be uploaded into one sandbox`,
      )
    bytes += more
    files += 1
  }
}

const quota = (cause: string, what: Admitted['what'] = 'sandboxes'): GloveboxError =>
  new GloveboxError('QUOTA_EXCEEDED', `Cannot go on: ${cause}`, { hint: `Delete ${what} that are no longer needed.` })
