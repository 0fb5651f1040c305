// What the pool says no with. None of it names a key that is not the caller's own.
import { GloveboxError, isGloveboxError } from '../errors/error.ts'

export const collision = (): GloveboxError =>
  new GloveboxError('KEY_COLLISION', 'Cannot acquire the sandbox: its id belongs to another key', {
    hint: 'Choose another name for the thread.',
  })

export const usedElsewhere = (): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot acquire the sandbox: another process is using it', {
    hint: 'Try again when it was released there.',
    facts: { retryAfterSeconds: 1 },
  })

export const notThere = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot open the sandbox: there is none of this id')

export const noPlace = (replicas: number): GloveboxError =>
  new GloveboxError('CAPACITY_EXCEEDED', `Cannot acquire a sandbox: all ${replicas} are in use`, {
    hint: 'Release one that is no longer needed, or try again in a moment.',
    facts: { replicas, retryAfterSeconds: 1 },
  })

export const draining = (): GloveboxError =>
  new GloveboxError('DRAINING', 'Cannot acquire a sandbox: the pool is being shut down', {
    hint: 'Try again when it has started anew.',
  })

export const cancelled = (): GloveboxError =>
  new GloveboxError('CANCELLED', 'Cannot acquire a sandbox: the caller no longer wants it')

export const lost = (): GloveboxError =>
  new GloveboxError('LEASE_LOST', 'Cannot use the sandbox: this process may no longer be the one that has it', {
    hint: 'Acquire the sandbox again.',
  })

/** Somebody came after us while this process slept: it is theirs now. */
export const isLeaseLost = (error: unknown): boolean => isGloveboxError(error) && error.code === 'LEASE_LOST'

export const released = (): GloveboxError =>
  new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it was released or destroyed', {
    hint: 'Acquire the sandbox again.',
  })
