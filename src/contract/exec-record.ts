// An exec of the API: what is asked for, what is kept of it, and what a reader of its stream gets. One schema each, which
// serves the server, its document, the client and the files: meta.json says what the row says. A field that is not set is
// null and never absent. Values of environment variables are in the request alone.
import { z } from 'zod'
import { artifactKinds } from './artifact.ts'
import { networkModes, secretName } from './policy.ts'
import { idSchema, sha256Schema, timestampSchema } from './run.ts'
import { execStatuses } from './store.ts'

export const execIdSchema = z.string().regex(/^exec_[0-9a-z]{8,64}$/, 'must be the id of an exec')

export const skillIdSchema = z
  .string()
  .max(128)
  .regex(/^[a-z0-9]+(\.[a-z0-9]+)+$/, 'must be small words joined by dots, like "shell.run"')

/** The length first: nothing is looked for in what is too long. */
const textUpTo = (most: number) =>
  z
    .string()
    .max(most, { abort: true })
    .regex(/^[^\0\p{Surrogate}]*$/u, 'must be well-formed text without NUL')

/** Names are checked with the values, in one place, when the exec is accepted. */
const environmentSchema = z.record(z.string(), z.string())

// Linux gives a single word 32 pages with its NUL (MAX_ARG_STRLEN): a longer one could be kept, and never run.
export const mostWordBytes = 128 * 1024 - 1

/** No text has fewer bytes than characters, so that this refuses nothing that fits. The bytes are counted when the exec is accepted. */
const wordSchema = textUpTo(mostWordBytes)

export const execKinds = ['shell', 'python'] as const

/**
 * `shell`: `command` is a script for `bash -lc`, and `args` are its `$1`, `$2`…; or, as `bash` itself is called: `command`
 * bash (or none) and `args` `-lc`, the script and what follows. `python`: `command` is code, or a file below
 * `/workspace/inputs`, and `args` are what follows; or `command` python (or none) and `args` `-c`, the code, or the file.
 */
export const execCommandSchema = z.strictObject({
  kind: z.enum(execKinds),
  command: wordSchema.min(1).optional(),
  args: z.array(wordSchema).max(1000).optional(),
  /** Below `/workspace/inputs`, `/workspace/work` or `/workspace/artifacts`; a relative one begins at `/workspace/work`. */
  cwd: textUpTo(4095).min(1).optional(),
  env: environmentSchema.optional(),
  /** For this exec alone. Refused unless the operator's policy lets a request have them. */
  secrets: z
    .array(
      z.union([
        secretName,
        z.strictObject({ name: secretName, env: z.string().min(1).max(128) }),
        z.strictObject({ name: secretName, file: z.string().min(1).max(128) }),
      ]),
    )
    .max(100)
    .optional(),
})
export type ExecCommand = z.infer<typeof execCommandSchema>

/** Takes what `z.base64()` takes, and a third of its time: an input may have megabytes. */
const isBase64 = (text: string): boolean => {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding))
}
const base64Schema = z.string().refine(isBase64, 'must be base64').meta({ format: 'base64', contentEncoding: 'base64' })

/** A file that is put below `inputs/` before the exec begins. */
export const execInputSchema = z
  .strictObject({
    path: z.string().max(4096),
    content: z.string().optional(),
    content_base64: base64Schema.optional(),
  })
  .refine(({ content, content_base64 }) => (content === undefined) !== (content_base64 === undefined), {
    message: 'must have either content or content_base64',
  })
export type ExecInput = z.infer<typeof execInputSchema>

const positive = z.int().positive()
const networkSchema = z.strictObject({
  mode: z.enum(networkModes),
  allow: z.array(z.string().min(1).max(300)).max(1000).optional(),
})

/** The fields of policy, as this API spells them. */
export const policyOverridesSchema = z.strictObject({
  net: networkSchema.optional(),
  timeout_ms: positive.optional(),
  max_stdout_bytes: positive.optional(),
  max_stderr_bytes: positive.optional(),
  max_artifacts_bytes_total: positive.optional(),
  memory_mb: positive.optional(),
  cpu_cores: z.number().positive().optional(),
  pids: positive.optional(),
  file_size_mb: positive.optional(),
  tmp_mb: positive.optional(),
  shm_mb: positive.optional(),
})
export type PolicyOverrides = z.infer<typeof policyOverridesSchema>

/** The body of `POST /sandbox/execs`. */
export const execRequestSchema = z.strictObject({
  /** Default: the conversation's id, else the project of the token. */
  project_id: idSchema.optional(),
  skill_id: skillIdSchema.optional(),
  exec: execCommandSchema,
  inputs: z.array(execInputSchema).max(1000).optional(),
  policy_overrides: policyOverridesSchema.optional(),
  task_ref: z.strictObject({ task_id: idSchema.optional(), conversation_id: idSchema.optional() }).optional(),
  /** For backends that have images. */
  image: textUpTo(512).min(1).optional(),
})
export type ExecRequest = z.infer<typeof execRequestSchema>

/** The policy in force, as the record keeps it. */
export const policySnapshotSchema = z.strictObject({
  net: z.strictObject({ mode: z.enum(networkModes), allow: z.array(z.string()) }),
  timeout_ms: positive,
  max_stdout_bytes: positive,
  max_stderr_bytes: positive,
  max_artifacts_bytes_total: positive,
  memory_mb: positive,
  cpu_cores: z.number().positive(),
  pids: positive,
  file_size_mb: positive,
  tmp_mb: positive,
  shm_mb: positive,
  env: z.array(z.string()),
  /** Those that the exec was given. Names only. */
  secrets: z.array(z.string()).default([]),
  delete: z.boolean(),
  protect: z.array(z.string()),
  deny_read: z.array(z.string()),
})
export type PolicySnapshot = z.infer<typeof policySnapshotSchema>

/** Why an exec ended as it did: one word for machines. Null for one that succeeded. */
const reasonSchema = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a word like "exit_nonzero"')

export const execRecordSchema = z.strictObject({
  exec_id: execIdSchema,
  project_id: idSchema,
  task_id: z.string().nullable(),
  conversation_id: z.string().nullable(),
  skill_id: z.string().nullable(),
  /** What it asked for; from its beginning on, what it runs in. Null where that is the host's own system. */
  image: z.string().nullable(),
  /** Which one had that name when it began. */
  image_id: z.string().nullable().default(null),
  cmd: z.string(),
  args: z.array(z.string()),
  cwd: z.string().nullable(),
  /** Names only. */
  env_keys: z.array(z.string()),
  /** Where the policy refused: the one that the request could not change. */
  policy_snapshot: policySnapshotSchema,
  status: z.enum(execStatuses),
  /** As a shell tells it. Null where the command did not come to its own end. */
  exit_code: z.int().nullable(),
  error_reason: reasonSchema.nullable(),
  created_at: timestampSchema,
  started_at: timestampSchema.nullable(),
  ended_at: timestampSchema.nullable(),
  duration_ms: z.int().nonnegative().nullable(),
  backend: z.string().nullable(),
  /** Relative to the workspace's root, which `/sandbox/health` tells; so are the paths below. */
  artifacts_path: z.string(),
  artifacts_dir: z.string(),
  stdout_path: z.string(),
  stderr_path: z.string(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
})
export type ExecRecord = z.infer<typeof execRecordSchema>

/** meta.json. Law: meta.json says of an exec what its row says. */
export const execMetaSchema = execRecordSchema.extend({
  layout: z.literal(1),
  /** Not the server's own. */
  image_asked: z.string().nullable().default(null),
  /** What the backend calls the boundary. */
  boundary_id: z.string().nullable(),
  /** What the guest saw, and where it lies below the workspace's root. */
  mounts: z.array(z.strictObject({ guest_path: z.string(), host_path: z.string(), mode: z.enum(['ro', 'rw']) })),
})
export type ExecMeta = z.infer<typeof execMetaSchema>

/** What the server writes about an exec, where no guest can reach it. */
export const recordNames = ['stdout.txt', 'stderr.txt', 'manifest.json', 'meta.json'] as const
export type RecordName = (typeof recordNames)[number]

/** Why a listed file has no hash. */
export const unlistedReasons = ['changed_while_read', 'unreadable', 'over_limit'] as const

export const execArtifactSchema = z.strictObject({
  /** Below `artifacts/<exec_id>/`. Bytes that are no UTF-8 are shown as U+FFFD. */
  path: z.string(),
  /** The true bytes of a path that is no UTF-8; else null. */
  path_base64: z.string().nullable(),
  /** Law: a symlink that the guest left is listed and never followed. */
  kind: z.enum(artifactKinds),
  size: z.int().nonnegative().nullable(),
  sha256: sha256Schema.nullable(),
  mode: z.int().nonnegative(),
  target: z.string().nullable(),
  skipped: z.enum(unlistedReasons).nullable(),
})
export type ExecArtifact = z.infer<typeof execArtifactSchema>

/** manifest.json: what the guest left. Law: a manifest of an exec that left something out says so. */
export const execManifestSchema = z.strictObject({
  exec_id: execIdSchema,
  recorded_at: timestampSchema,
  complete: z.boolean(),
  /** The guest wrote more than it may; what was beyond is gone. */
  over_limit: z.boolean(),
  total_bytes: z.int().nonnegative(),
  entries: z.array(execArtifactSchema),
})
export type ExecManifest = z.infer<typeof execManifestSchema>

/** `by` tells the server's records from the guest's files. Where both have a name, the record is what it opens. */
export const listedArtifactSchema = execArtifactSchema.extend({ by: z.enum(['server', 'guest']) })
export type ListedArtifact = z.infer<typeof listedArtifactSchema>

export const execArtifactsSchema = z.strictObject({
  exec_id: execIdSchema,
  artifacts_dir: z.string(),
  /** False while the exec has not ended, and where something was left out. Also where its manifest.json cannot be read: these are the
   * files as they are now, without hashes. */
  complete: z.boolean(),
  entries: z.array(listedArtifactSchema),
})
export type ExecArtifacts = z.infer<typeof execArtifactsSchema>

/** One event of a stream. Law: a reader that comes back with the id of the last event gets every byte once. */
export const execEventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('state'), status: z.enum(execStatuses) }),
  z.strictObject({
    type: z.enum(['stdout', 'stderr']),
    /** Where these bytes begin in the output. */
    offset: z.int().nonnegative(),
    bytes: z.int().positive(),
    /** Base64 where the bytes are no text: not UTF-8, or with a NUL. */
    encoding: z.enum(['utf8', 'base64']),
    data: z.string(),
  }),
  /** The last one. */
  z.strictObject({ type: z.literal('end'), exec: execRecordSchema }),
])
export type ExecEvent = z.infer<typeof execEventSchema>

export const execHealthSchema = z.strictObject({
  status: z.enum(['ok', 'degraded']),
  runtime_mode: z.enum(['windows', 'wsl', 'linux', 'macos']),
  workspace_root_native: z.string(),
  /** Can the server write there? */
  workspace_writable: z.boolean(),
  docker: z
    .strictObject({
      cli_path: z.string().nullable(),
      mount_path: z.string().nullable(),
      version: z.string().nullable(),
      context: z.string().nullable(),
      available: z.boolean(),
    })
    .nullable(),
  backends: z.array(
    z.strictObject({
      name: z.string(),
      available: z.boolean(),
      version: z.string().nullable(),
      reason: z.string().nullable(),
      fix: z.string().nullable(),
    }),
  ),
  execs: z.strictObject({
    running: z.int().nonnegative(),
    queued: z.int().nonnegative(),
    max_concurrent: z.int().positive(),
    max_queued: z.int().positive(),
  }),
})
export type ExecHealth = z.infer<typeof execHealthSchema>
