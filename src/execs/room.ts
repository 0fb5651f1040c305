// Room in the queue. It is bounded, in all and for each project, so that one that sends without end is told to wait and
// nobody else is.
import type { Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import type { ExecName } from './layout.ts'

export interface RoomLimits {
  readonly maxConcurrent: number
  readonly maxQueued: number
  readonly maxQueuedPerProject: number
}

export interface Room {
  /** Throws where there is none. What it gives back is called when the exec is in the queue, or nowhere; again does no harm. */
  reserve(exec: ExecName): Promise<() => void>
  /** How long execs take, for what those are told who have to wait. */
  tookMs(durationMs: number): void
}

export function openRoom(store: Store, limits: RoomLimits): Room {
  // Execs on their way into the queue, with their projects. The store may know one of them or not yet, at any moment until
  // it has left: they are counted here, and the store is asked for the others, so that each counts once.
  const coming = new Map<string, string>()
  let usualMs = 1000

  const countQueued = async (project_id?: string): Promise<number> => {
    const ours = [...coming].filter(([, project]) => project_id === undefined || project === project_id)
    const except = ours.map(([execId]) => execId)
    return except.length + (await store.execs.count({ status: ['QUEUED'], project_id, except }))
  }
  const refuse = (queued: number, whose: string): GloveboxError =>
    new GloveboxError('TOO_MANY_REQUESTS', `Cannot take the exec: the queue ${whose} is full`, {
      hint: 'Send it again after the time in Retry-After.',
      facts: { queued, retryAfterSeconds: waitSeconds(queued, limits.maxConcurrent, usualMs) },
    })
  return {
    async reserve({ exec_id, project_id }) {
      const leave = (): void => void coming.delete(exec_id)
      coming.set(exec_id, project_id)
      try {
        // Both look now at who came before, not at who comes while the store is asked.
        const [ours, all] = await Promise.all([countQueued(project_id), countQueued()])
        if (ours > limits.maxQueuedPerProject + limits.maxConcurrent) throw refuse(ours, 'of this project')
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
