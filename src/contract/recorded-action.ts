// What one action of a run was, and what came of it: enough to perform it again and to compare. It lies in
// `logs/actions/<number>/`: `action.json`, and beside it the bytes that are too large for an event. The event
// `action_ended` carries the hash of each of these files, so that the log vouches for them.
import { z } from 'zod'
import { artifactKinds } from './artifact.ts'
import { sha256Schema, timestampSchema } from './run.ts'

/** `000001`: as wide as it takes for names to sort as numbers do. */
export const actionDirectoryName = (number: number): string => String(number).padStart(6, '0')

/** Bytes in a file beside action.json, under the name of the field (`stdin`, `stdout`, `stderr`, `content`); no bytes, no file. */
export const keptBytesSchema = z.strictObject({
  /** Of all that there was, also where less was kept. */
  bytes: z.int().nonnegative(),
  kept_bytes: z.int().nonnegative(),
  /** Of the bytes that were kept. */
  sha256: sha256Schema,
})
export type KeptBytes = z.infer<typeof keptBytesSchema>

export const endedSchema = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('exit'), code: z.int() }),
  z.strictObject({ by: z.literal('signal'), signal: z.string() }),
  z.strictObject({ by: z.literal('timeout'), after_ms: z.int() }),
  z.strictObject({ by: z.literal('cancel'), after_ms: z.int() }),
  z.strictObject({ by: z.literal('oom') }),
  z.strictObject({ by: z.literal('lost'), reason: z.string() }),
])

/** One entry that an action created, changed or deleted, below `workspace/` or `deliverables/`. */
export const changeSchema = z.strictObject({
  /** Relative to the run directory, `workspace/a.txt`. Bytes that are no UTF-8 are shown as U+FFFD. */
  path: z.string(),
  /** The true bytes of a path that is no UTF-8; else null. */
  path_base64: z.string().nullable(),
  change: z.enum(['created', 'changed', 'deleted']),
  kind: z.enum(artifactKinds),
  /** Null where there is no content on that side, or where it was not hashed. The content of a link is its text. */
  before_sha256: sha256Schema.nullable(),
  after_sha256: sha256Schema.nullable(),
  /** After the action; of a deleted entry, before it. */
  size: z.int().nonnegative().nullable(),
  mode: z.int().nonnegative(),
  /** Where a link points, as written in it; of a deleted link, where it pointed. */
  target: z.string().nullable(),
  /** The content after the action lies in `archive/blobs/<sha256>`. */
  kept: z.boolean(),
})
export type Change = z.infer<typeof changeSchema>

/** Reasons for which a look at the trees may have missed something. */
export const changeStops = ['entries', 'depth', 'bytes', 'unreadable', 'concurrent'] as const
export type ChangeStop = (typeof changeStops)[number]

/** changes.json. Law: a change set that may have missed something says so. */
export const changeSetSchema = z.strictObject({
  /** How it was found: by a walk over the trees, or from the upper layer of an overlay. */
  by: z.enum(['walk', 'overlay']),
  complete: z.boolean(),
  /** Why not, if not. */
  stopped: z.array(z.enum(changeStops)),
  changes: z.array(changeSchema),
})
export type ChangeSet = z.infer<typeof changeSetSchema>

/** One entry of the trees at some moment. */
export const treeEntrySchema = z.strictObject({
  path: z.string(),
  path_base64: z.string().nullable(),
  kind: z.enum(artifactKinds),
  sha256: sha256Schema.nullable(),
  size: z.int().nonnegative().nullable(),
  mode: z.int().nonnegative(),
  target: z.string().nullable(),
  kept: z.boolean(),
})
export type TreeEntry = z.infer<typeof treeEntrySchema>

/** archive/base.json: the trees before the first action. Law: folding the start and every change set gives the trees as they are. */
export const startStateSchema = z.strictObject({
  by: z.enum(['walk', 'overlay']),
  complete: z.boolean(),
  stopped: z.array(z.enum(changeStops)),
  /** Of an overlay: the layers under the workspace, the topmost first, whose entries are not listed here. */
  lower: z.array(z.string()),
  entries: z.array(treeEntrySchema),
})
export type StartState = z.infer<typeof startStateSchema>

/** action.json */
export const recordedActionSchema = z.strictObject({
  number: z.int().positive(),
  /** `run` for a command; else the name of the action. */
  action: z.string(),
  /**
   * Of `run`: `{ argv, cwd, timeout_ms }`, with `command` in place of `argv` where it was text for the shell; what was not
   * asked for is null. Of an action: its input without `env` and `stdin`, and without the `text` or `base64` of a write,
   * whose bytes are the file `content`. Values of environment variables are never kept.
   */
  input: z.record(z.string(), z.json()),
  env_names: z.array(z.string()),
  stdin: keptBytesSchema.nullable(),
  content: keptBytesSchema.nullable(),
  started_at: timestampSchema,
  duration_ms: z.int().nonnegative(),
  /** Of a command. */
  ended: endedSchema.nullable(),
  stdout: keptBytesSchema.nullable(),
  stderr: keptBytesSchema.nullable(),
  /** Of an action that answered: the SHA-256 of its answer as canonical JSON. Null for commands: they have an end and outputs. */
  output_sha256: sha256Schema.nullable(),
  /** The code of a refusal. Nothing else of this action is set then. */
  error: z.string().nullable(),
})
export type RecordedAction = z.infer<typeof recordedActionSchema>

/** The files that may lie beside action.json. */
export const keptNames = ['stdin', 'stdout', 'stderr', 'content'] as const
export type KeptName = (typeof keptNames)[number]

/** An action as it is read back. Law: bytes that are not what the record says of them are refused with RECORD_DAMAGED. */
export interface KeptAction extends RecordedAction {
  readonly files: { read(name: KeptName): Promise<Uint8Array> }
  /** Another action was at work when this one began. */
  readonly overlaps: boolean
}

/** Events of type `action_started` and `action_ended`. Law: actions are numbered from 1 in the order of their start. */
export const actionStarted = 'action_started'
export const actionEnded = 'action_ended'

/** What `action_ended` carries. More fields, for people, may stand beside these. */
export const actionEndedDataSchema = z.looseObject({
  number: z.int().positive(),
  action: z.string(),
  ended: endedSchema.nullable(),
  error: z.string().nullable(),
  /** Of each file in the action's directory, by its name: `action.json`, `changes.json`, and those of the kept bytes. */
  hashes: z.record(z.string(), sha256Schema),
})
export type ActionEndedData = z.infer<typeof actionEndedDataSchema>
