// archive/fork.json: with what the workspace of a forked run began. Written before the run can be seen, read-only, and named
// with its hash in the first event.
import { z } from 'zod'
import { forkedFromSchema, idSchema, sha256Schema, timestampSchema } from './run.ts'

/** `overlay`: the other run's files are seen through, and copied when they are changed. `reflink`: copied, sharing blocks. */
export const forkMethods = ['overlay', 'reflink', 'copy'] as const
export type ForkMethod = (typeof forkMethods)[number]

/** A directory of a run under the workspace of this one. */
export const forkLayerSchema = z.strictObject({
  run_id: idSchema,
  /** Of that run, when the fork was made. */
  directory: z.string(),
  /** The same, from the directory of this run: where it is looked for first, so that both can be moved together. */
  relative: z.string(),
  /** `archive/at` holds what was different at the moment that was forked. */
  place: z.enum(['workspace', 'archive/at']),
  /**
   * Null where the layer is the run's own.
   * Law: a fork is started only if nothing in its layers has changed since.
   */
  unchanged_since: timestampSchema.nullable(),
})
export type ForkLayer = z.infer<typeof forkLayerSchema>

export const forkRecordSchema = z.strictObject({
  run_id: idSchema,
  forked_from: forkedFromSchema,
  /** Of the event `forked_from.seq`: tells the other run's history from any other. */
  event_hash: sha256Schema,
  /** The action after which it was, or null for the state at the end. */
  after_action: z.int().nonnegative().nullable(),
  forked_at: timestampSchema,
  by: z.enum(forkMethods),
  /** Why it is not an overlay; null if it is. */
  why: z.string().nullable(),
  /** Nearest first; empty unless by overlay. */
  layers: z.array(forkLayerSchema),
})
export type ForkRecord = z.infer<typeof forkRecordSchema>
