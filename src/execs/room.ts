// Room in the queue. It is bounded, in all and for each project, so that one that sends without end is told to wait and
// nobody else is. Who finds a free place does not wait, though he stands in the queue until he has it: so there is room for as many more
// as places are free. Those of a project may be given to others that have fewer, and then it waits with so many more.
import type { ExecLoad, Store } from '../contract/store.ts'
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

/** What this server has at work, as it knows and as the store does: each hears of a beginning or an end before the other. */
export interface AtWork {
  owner(): string
  count(): number
}

export function openRoom(store: Store, limits: RoomLimits, atWork: AtWork): Room {
  // Execs on their way into the queue, with their projects. The store may know one of them or not yet, at any moment until
  // it has left: they are counted here, and the store is asked for the others, so that each counts once.
  const coming = new Map<string, string>()
  let usualMs = 1000

  const look = async (project_id: string): Promise<ExecLoad & { readonly free: number }> => {
    const projects = [...coming.values()]
    const ofProject = projects.filter((each) => each === project_id).length
    // Now, as the store tells: what it still tells as waiting must not have its place already.
    const count = atWork.count()
    const load = await store.execs.countLoad({ owner: atWork.owner(), project_id, except: [...coming.keys()] })
    return {
      queued: load.queued + projects.length,
      queuedOfProject: load.queuedOfProject + ofProject,
      running: load.running,
      free: Math.max(0, limits.maxConcurrent - Math.max(load.running, count)),
    }
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
        // It looks now at who came before, not at who comes while the store is asked.
        const { queued, queuedOfProject, free } = await look(project_id)
        if (queuedOfProject > limits.maxQueuedPerProject + free) throw refuse(queuedOfProject, 'of this project')
        if (queued > limits.maxQueued + free) throw refuse(queued, 'of the server')
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
