// What is in no record of an exec, between its request and its start: the values of its environment, its secrets' uses, and which
// limits were asked for and which came by default. In memory alone.
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import type { Unrecorded } from './work.ts'

export interface UnrecordedParts {
  keep(execId: string, unrecorded: Unrecorded): void
  take(execId: string): Unrecorded | undefined
  /** For an exec that cannot run without it. */
  has(execId: string): boolean
  /** Another server may have cancelled an exec in the queue: nobody takes then what was kept for it. */
  letGoOfEnded(find: Store['execs']['find']): Promise<void>
}

/**
 * Without what the server that took its request knows, it would run with less than it asked for. A secret may come as a file and
 * then sets no variable: the policy names it all the same.
 */
export function needsUnrecorded({ env_keys, policy_snapshot }: Pick<ExecRow, 'env_keys' | 'policy_snapshot'>): boolean {
  const secrets = policy_snapshot?.['secrets']
  return env_keys.length > 0 || (Array.isArray(secrets) && secrets.length > 0)
}

/** One that needs nothing of it may be run by another server, and is then never taken here. */
const mostHelpful = 4096

export function openUnrecorded(): UnrecordedParts {
  const needed = new Map<string, Unrecorded>()
  const helpful = new Map<string, Unrecorded>()
  return {
    keep(execId, unrecorded) {
      const { env, secrets } = unrecorded
      if (Object.keys(env).length > 0 || secrets.length > 0) return void needed.set(execId, unrecorded)
      helpful.set(execId, unrecorded)
      const [oldest] = helpful.keys()
      if (helpful.size > mostHelpful && oldest !== undefined) helpful.delete(oldest)
    },
    take(execId) {
      const found = needed.get(execId) ?? helpful.get(execId)
      needed.delete(execId)
      helpful.delete(execId)
      return found
    },
    has: (execId) => needed.has(execId),
    async letGoOfEnded(find) {
      for (const execId of needed.keys()) {
        const row = await find(execId)
        // One that is not there is only just coming.
        if (row !== undefined && hasEnded(row.status)) needed.delete(execId)
      }
    },
  }
}
