// Room in the queue. It is bounded, in all and for each project, so that one that sends without end is told to wait and
// nobody else is.
import type { Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'

export interface RoomLimits {
  readonly maxConcurrent: number
  readonly maxQueued: number
  readonly maxQueuedPerProject: number
}

export interface Room {
  /** Throws where there is none. What it gives back is called when the exec is in the queue, or nowhere. */
  reserve(project: string): Promise<() => void>
  /** How long execs take, for what those are told who have to wait. */
  tookMs(durationMs: number): void
}

export function openRoom(store: Store, limits: RoomLimits): Room {
  // Of requests that are on their way into the queue, which the store does not know yet.
  const coming = new Map<string, number>()
  let comingInAll = 0
  let usualMs = 1000

  const enter = (project: string): (() => void) => {
    coming.set(project, (coming.get(project) ?? 0) + 1)
    comingInAll += 1
    return () => {
      comingInAll -= 1
      const left = (coming.get(project) ?? 1) - 1
      if (left === 0) coming.delete(project)
      else coming.set(project, left)
    }
  }
  const refuse = (queued: number, whose: string): GloveboxError =>
    new GloveboxError('TOO_MANY_REQUESTS', `Cannot take the exec: the queue ${whose} is full`, {
      hint: 'Send it again after the time in Retry-After.',
      facts: { queued, retryAfterSeconds: waitSeconds(queued, limits.maxConcurrent, usualMs) },
    })
  return {
    async reserve(project) {
      const leave = enter(project)
      try {
        const ours = (coming.get(project) ?? 0) + (await store.execs.count({ status: ['QUEUED'], project_id: project }))
        if (ours > limits.maxQueuedPerProject + limits.maxConcurrent) throw refuse(ours, 'of this project')
        const all = comingInAll + (await store.execs.count({ status: ['QUEUED'] }))
        if (all > limits.maxQueued + limits.maxConcurrent) throw refuse(all, 'of the server')
        return leave
      } catch (error) {
        leave()
        throw error
      }
    },
    tookMs(durationMs) {
      usualMs += (durationMs - usualMs) / 8
    },
  }
}

const waitSeconds = (queued: number, atOnce: number, usualMs: number): number =>
  Math.min(60, Math.max(1, Math.ceil((queued / atOnce) * (usualMs / 1000))))
