// Sessions, tasks and runs: ids, states and the files that describe them. A field that is not set is null and never
// absent, so that a reader can tell "unset" from "written by something older". Each sentence marked "Law" has a test
// in src/runs in the same words.
import { z } from 'zod'
import { chance } from './chance.ts'

/** Made here, of chance. A caller's own ids need no prefix. */
export const newSessionId = (): string => `sess_${chance()}`
export const newTaskId = (): string => `task_${chance()}`
export const newRunId = (): string => `run_${chance()}`

/** Safe as a file name and as an argument. Law: a caller's id is letters, digits, dot, underscore and dash, at most 128, and begins with neither dot nor dash. */
export const idSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/,
    'must be letters, digits, ".", "_" or "-", at most 128, and begin with neither "." nor "-"',
  )

export const runStatuses = [
  'pending',
  'running',
  'waiting_for_tool',
  'waiting_for_user',
  'review_required',
  'revision_required',
  'completed',
  'failed',
  'cancelled',
  'lost',
] as const
export type RunStatus = (typeof runStatuses)[number]

/**
 * `lost` is reached only from states in which something was at work whose end nobody may have seen. A run that waits
 * for review has no such thing: how it stands is known.
 * Law: a run changes its state only along the table of transitions; anything else is an error and changes nothing.
 */
export const transitions: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  pending: ['running', 'failed', 'cancelled'],
  running: ['waiting_for_tool', 'waiting_for_user', 'review_required', 'completed', 'failed', 'cancelled', 'lost'],
  waiting_for_tool: ['running', 'waiting_for_user', 'failed', 'cancelled', 'lost'],
  waiting_for_user: ['running', 'waiting_for_tool', 'failed', 'cancelled', 'lost'],
  review_required: ['completed', 'revision_required', 'failed', 'cancelled'],
  revision_required: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
  lost: [],
}

/** Law: a run that has ended never changes again. */
export const isTerminal = (status: RunStatus): boolean => transitions[status].length === 0

/** States in which a process is at work on the run. Without that process, such a run has crashed. */
export const needsOwner = (status: RunStatus): boolean =>
  !isTerminal(status) && status !== 'review_required' && status !== 'revision_required'

export const timestampSchema = z.iso.datetime({ precision: 3 })
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in small hexadecimal digits')

/** Why a run failed, was cancelled or lost: one word for machines, for example `deliverable_missing`. */
export const reasonSchema = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a word like "deliverable_missing"')

/** The layout that this code writes. A directory of a newer one is refused, never guessed at. */
export const layoutVersion = 1

export const forkedFromSchema = z.strictObject({ run_id: idSchema, seq: z.int().positive() })

/** run.json. Law: run.json is the fold of events.jsonl. */
export const runRecordSchema = z.strictObject({
  session_id: idSchema,
  task_id: idSchema,
  run_id: idSchema,
  profile_id: z.string().nullable(),
  config_fingerprint: sha256Schema,
  status: z.enum(runStatuses),
  created_at: timestampSchema,
  updated_at: timestampSchema,
  started_at: timestampSchema.nullable(),
  completed_at: timestampSchema.nullable(),
  failure_reason: reasonSchema.nullable(),
  layout: z.literal(layoutVersion),
  executor: z.string().nullable(),
  /** The run of the same task that a person sent back, and that this one does again. */
  revision_of: idSchema.nullable(),
  forked_from: forkedFromSchema.nullable(),
  /** The event that brought the run into this state. A log that ends before it has been cut. */
  state_seq: z.int().positive(),
  state_hash: sha256Schema,
})
export type RunRecord = z.infer<typeof runRecordSchema>

export const deliverableSchema = z.strictObject({
  /** Below `deliverables/`; the guest's spelling `/deliverables/…` is taken too. */
  path: z.string().min(1).max(4096),
  allow_empty: z.boolean(),
})
export type Deliverable = z.infer<typeof deliverableSchema>

/** session.json */
export const sessionRecordSchema = z.strictObject({
  session_id: idSchema,
  title: z.string().nullable(),
  created_at: timestampSchema,
})
export type SessionRecord = z.infer<typeof sessionRecordSchema>

/** task.yaml */
export const taskRecordSchema = z.strictObject({
  task_id: idSchema,
  session_id: idSchema,
  title: z.string().nullable(),
  prompt_sha256: sha256Schema,
  deliverables: z.array(deliverableSchema),
  /** A finished run waits for a person before it is completed. */
  review: z.boolean(),
  revision_of: idSchema.nullable(),
  created_at: timestampSchema,
})
export type TaskRecord = z.infer<typeof taskRecordSchema>
