// The two manifests of a run: what the boundary was, and which files came out of it. Together with the snapshots they
// are enough to build the environment again.
import { z } from 'zod'
import { layerNames } from './policy.ts'
import { idSchema, sha256Schema, timestampSchema } from './run.ts'

export const artifactKinds = ['file', 'directory', 'symlink', 'other'] as const
export const artifactRoles = ['workspace', 'deliverable'] as const

/** Why a listed file has no hash. */
export const skipReasons = ['bytes', 'depth', 'changed_while_read', 'unreadable', 'no_space'] as const

export const artifactSchema = z.strictObject({
  /** Relative to the run directory: `workspace/a.txt`. Bytes that are no UTF-8 are shown as U+FFFD. */
  path: z.string(),
  /** The true bytes of a path that is no UTF-8; else null. */
  path_base64: z.string().nullable(),
  /** Law: a symlink is recorded as a link and never followed. */
  kind: z.enum(artifactKinds),
  role: z.enum(artifactRoles),
  /** Bytes of a file, length of a link's text; null for what has no size. */
  size: z.int().nonnegative().nullable(),
  sha256: sha256Schema.nullable(),
  /** Permission bits. */
  mode: z.int().nonnegative(),
  /** Where a link points, as written in it. */
  target: z.string().nullable(),
  skipped: z.enum(skipReasons).nullable(),
})
export type Artifact = z.infer<typeof artifactSchema>

export const artifactLimitsSchema = z.strictObject({
  max_entries: z.int().positive(),
  max_depth: z.int().positive(),
  /** Bytes that are hashed in all. What lies beyond is listed without a hash. */
  max_bytes: z.int().positive(),
})
export type ArtifactLimits = z.infer<typeof artifactLimitsSchema>

/** Reasons for which a manifest is not complete. */
export const stopReasons = [
  'not_recorded',
  'entries',
  'depth',
  'bytes',
  'changed_while_read',
  'unreadable',
  'no_space',
] as const

/** artifact-manifest.json. Law: an artifact manifest that left something out says so and why. */
export const artifactManifestSchema = z.strictObject({
  run_id: idSchema,
  recorded_at: timestampSchema.nullable(),
  complete: z.boolean(),
  stopped: z.array(z.enum(stopReasons)),
  limits: artifactLimitsSchema,
  totals: z.strictObject({
    entries: z.int().nonnegative(),
    files: z.int().nonnegative(),
    bytes: z.int().nonnegative(),
    hashed_bytes: z.int().nonnegative(),
  }),
  entries: z.array(artifactSchema),
})
export type ArtifactManifest = z.infer<typeof artifactManifestSchema>

/** Why a required deliverable does not count, as the run's `failure_reason` spells it. */
export const deliverableReasons = [
  'deliverable_missing',
  'deliverable_empty',
  'deliverable_symlink',
  'deliverable_outside',
  'deliverable_not_a_file',
] as const
export type DeliverableReason = (typeof deliverableReasons)[number]

export interface DeliverableProblem {
  readonly path: string
  readonly reason: DeliverableReason
}

/** sandbox-manifest.json. Before a sandbox is made, `recorded_at` and all that it would say are null or empty. */
export const sandboxManifestSchema = z.strictObject({
  run_id: idSchema,
  recorded_at: timestampSchema.nullable(),
  sandbox_id: z.string().nullable(),
  backend: z.string().nullable(),
  backend_version: z.string().nullable(),
  cwd: z.string().nullable(),
  mounts: z.array(
    z.strictObject({ guest_path: z.string(), host_path: z.string(), mode: z.enum(['rw', 'ro', 'vault']) }),
  ),
  policy: z.array(
    z.strictObject({
      field: z.string(),
      value: z.json(),
      layer: z.enum(layerNames),
      source: z.string(),
      ceiling: z.json(),
      ceiling_layer: z.enum(layerNames).nullable(),
    }),
  ),
  enforced: z.array(z.strictObject({ what: z.string(), by: z.string() })),
  not_enforced: z.array(z.strictObject({ what: z.string(), why: z.string() })),
  /** Names only; values never enter a record. */
  environment: z.array(z.string()),
  plan_fingerprint: sha256Schema.nullable(),
})
export type SandboxManifest = z.infer<typeof sandboxManifestSchema>
