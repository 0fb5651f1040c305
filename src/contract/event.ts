// One line of a run's log. Ordered by `seq`, never by time. The line is JSON in a fixed order of keys that ends with
// `"prev_hash":"…","hash":"…"}`; `hash` is the SHA-256 of the line's bytes before `,"hash":`, and `prev_hash` the hash
// of the line before it, so no byte can change, and no line go, come or move, without the chain telling.
import { z } from 'zod'
import { idSchema, sha256Schema, timestampSchema } from './run.ts'

export const eventActors = ['runtime', 'executor', 'guest', 'user'] as const
export const severities = ['debug', 'info', 'warning', 'error'] as const

export const eventSchema = z.strictObject({
  event_id: z.string().regex(/^evt_[0-9a-f]{32}$/),
  /** Law: seq begins at 1 and has no gap. */
  seq: z.int().positive(),
  run_id: idSchema,
  session_id: idSchema,
  task_id: idSchema,
  type: z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, 'must be a word like "exec_started"'),
  timestamp: timestampSchema,
  actor: z.enum(eventActors),
  severity: z.enum(severities),
  summary: z.string().max(1000),
  /** Small and free of secrets: what is large lies in a file, and its hash here. */
  data: z.record(z.string(), z.json()),
  prev_hash: sha256Schema,
  hash: sha256Schema,
})
export type RunEvent = z.infer<typeof eventSchema>
export type EventData = RunEvent['data']

/** Before the first event there is nothing to point at. */
export const firstPrevHash = '0'.repeat(64)

/** Law: an event is at most 16 KiB long, so that a terminal one always fits the reserved space. */
export const maxEventBytes = 16 * 1024

/** Only the room `runs` writes these; they are what run.json is folded from. Law: exactly one event is terminal, and it is the last. */
export const ownEventTypes = ['run_created', 'state_changed', 'run_ended', 'log_repaired', 'file_recorded'] as const

/** D1: synced before the answer, one sync shared by all that wait. D2: written at once, synced within a second. */
export type Durability = 'D1' | 'D2'

export interface EventInput {
  readonly type: string
  readonly summary: string
  readonly data?: EventData
  /** Default: `runtime`. */
  readonly actor?: RunEvent['actor']
  /** Default: `info`. */
  readonly severity?: RunEvent['severity']
}
