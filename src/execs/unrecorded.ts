// What is in no record of an exec, between its request and its start: the values of its environment, and which limits were
// asked for and which came by default. In memory alone.
import type { Unrecorded } from './work.ts'

export interface UnrecordedParts {
  keep(execId: string, unrecorded: Unrecorded): void
  take(execId: string): Unrecorded | undefined
}

/** One without an environment may be run by another server, and is then never taken here. */
const mostWithoutEnvironment = 4096

export function openUnrecorded(): UnrecordedParts {
  const needed = new Map<string, Unrecorded>()
  const helpful = new Map<string, Unrecorded>()
  return {
    keep(execId, unrecorded) {
      if (Object.keys(unrecorded.env).length > 0) return void needed.set(execId, unrecorded)
      helpful.set(execId, unrecorded)
      const [oldest] = helpful.keys()
      if (helpful.size > mostWithoutEnvironment && oldest !== undefined) helpful.delete(oldest)
    },
    take(execId) {
      const found = needed.get(execId) ?? helpful.get(execId)
      needed.delete(execId)
      helpful.delete(execId)
      return found
    },
  }
}
