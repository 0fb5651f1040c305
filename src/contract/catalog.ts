// The catalog: what a sandbox tells its agent about itself, as a set of small files below /workspace/.glovebox and as one document.
// A field that is not known is null and never absent. Times are ISO 8601 in UTC; paths are the guest's; no value of a variable
// and no secret appears. `revision` rises when the file's content changes; all files in now/ are of one moment.
// A change that a reader of this version could stumble over makes another version.
import { z } from 'zod'
import { capabilityNames } from './capability.ts'
import { layerNames, policyValuesSchema } from './policy.ts'

export const catalogVersion = 1

const count = z.int().nonnegative()
const time = z.iso.datetime()
const stamp = { catalogVersion: z.literal(catalogVersion), revision: z.int().positive() }
const origin = z.strictObject({ layer: z.enum(layerNames), source: z.string() })
const capability = z.enum(capabilityNames)
const mode = z.enum(['rw', 'ro', 'vault'])

/** index.json: what the set consists of. */
export const catalogIndexSchema = z.strictObject({
  ...stamp,
  sandboxId: z.string(),
  files: z.array(z.strictObject({ path: z.string(), about: z.string(), schema: z.string().nullable() })),
})

/** session.json: who am I? */
export const catalogSessionSchema = z.strictObject({
  ...stamp,
  sandboxId: z.string(),
  createdAt: time,
  cwd: z.string(),
  homeDir: z.string(),
  tmpDir: z.string(),
  cacheDir: z.string(),
  shell: z.string(),
  catalogDir: z.string(),
  /** Null: the sandbox belongs to no recorded run. */
  run: z
    .strictObject({
      runId: z.string(),
      sessionId: z.string(),
      taskId: z.string(),
      /** Files that must be there at the end. */
      deliverables: z.array(z.string()),
    })
    .nullable(),
})

/** runtime.json: what kind of boundary is around me, and what does it really hold? */
export const catalogRuntimeSchema = z.strictObject({
  ...stamp,
  backend: z.string(),
  sandboxed: z.boolean(),
  enforced: z.array(z.strictObject({ what: capability, by: z.string() })),
  notEnforced: z.array(z.strictObject({ what: capability, why: z.string() })),
})

/** tools.json: which actions are there, and what do they take? */
export const catalogToolsSchema = z.strictObject({
  ...stamp,
  actions: z.array(
    z.strictObject({
      name: z.string(),
      summary: z.string(),
      effect: z.enum(['read', 'write', 'execute']),
      /** A JSON Schema. */
      input: z.record(z.string(), z.json()),
    }),
  ),
})

/** permissions.json: what may I do? */
export const catalogPermissionsSchema = z.strictObject({
  ...stamp,
  network: z.strictObject({ mode: z.enum(['none', 'allowlist', 'full']), allow: z.array(z.string()) }),
  files: z.strictObject({
    writable: z.array(z.string()),
    readOnly: z.array(z.string()),
    /** Names below every writable directory that can be neither changed nor made. */
    protectedNames: z.array(z.string()),
    hidden: z.array(z.string()),
    /** May file actions delete? Commands may, where they may write. */
    actionsMayDelete: z.boolean(),
  }),
  /** Secrets that a command may be given, by vault and name. */
  secrets: z.array(z.string()),
  /** Every value of the policy with the layer that set it, and the most that a request may ask for. */
  policy: z.array(
    z.strictObject({
      field: policyValuesSchema.keyof(),
      value: z.json(),
      from: origin,
      ceiling: z.strictObject({ value: z.json(), from: origin }).nullable(),
    }),
  ),
})

/** environment.json: names only. */
export const catalogEnvironmentSchema = z.strictObject({ ...stamp, names: z.array(z.string()) })

/** vaults.json: names only. */
export const catalogVaultsSchema = z.strictObject({
  ...stamp,
  vaults: z.array(
    z.strictObject({
      name: z.string(),
      guestPath: z.string(),
      source: z.enum(['directory', 'environment', 'command']),
      secrets: z.array(z.strictObject({ name: z.string(), granted: z.boolean() })),
    }),
  ),
})

export const catalogMountsSchema = z.strictObject({
  ...stamp,
  mounts: z.array(z.strictObject({ guestPath: z.string(), mode })),
})

/** budget.json: limits, what was used, and what is left. */
export const catalogBudgetSchema = z.strictObject({
  ...stamp,
  asOf: time,
  /** Of each single command. `enforcedBy` null: nobody holds it here. */
  perCommand: z.array(
    z.strictObject({
      what: policyValuesSchema.keyof(),
      limit: z.number(),
      ceiling: z.number().nullable(),
      enforcedBy: z.string().nullable(),
    }),
  ),
  /** Of all commands together, since the sandbox was opened. */
  used: z.strictObject({
    commands: count,
    actions: count,
    commandMs: count,
    stdoutBytes: count,
    stderrBytes: count,
    aliveMs: count,
  }),
  /** What runs out. `limit` and `left` null: it does not. */
  left: z.array(
    z.strictObject({
      what: z.string(),
      unit: z.string(),
      limit: z.number().nullable(),
      used: z.number(),
      left: z.number().nullable(),
      endsAt: time.nullable(),
    }),
  ),
})

const ended = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('exit'), code: z.int() }),
  z.strictObject({ by: z.literal('signal'), signal: z.string() }),
  z.strictObject({ by: z.literal('timeout'), afterMs: z.number() }),
  z.strictObject({ by: z.literal('cancel'), afterMs: z.number() }),
  z.strictObject({ by: z.literal('oom') }),
  z.strictObject({ by: z.literal('lost'), reason: z.string() }),
])

/** A line of history.jsonl: one thing that was done and has ended. */
export const catalogDeedSchema = z.strictObject({
  /** In the order of their beginnings, from 1. */
  number: z.int().positive(),
  /** `run` for a command; else the action's name. */
  action: z.string(),
  /** The command, the path or the pattern, cut after 500 characters. */
  about: z.string(),
  shellId: z.string().nullable(),
  startedAt: time,
  durationMs: count,
  /** Null: it was no command, or could not be run. */
  ended: ended.nullable(),
  exitCode: z.int().nullable(),
  /** The code of the refusal; null if there was none. */
  error: z.string().nullable(),
  stdoutBytes: count,
  stderrBytes: count,
  /** What the boundary kept from it: `kind subject`. */
  denials: z.array(z.string()),
})

/** A line of events.jsonl. Ordered by seq, which has no gap; the first line's tells how many were before. */
export const catalogEventSchema = z.strictObject({
  seq: z.int().positive(),
  at: time,
  type: z.enum([
    'sandbox_opened',
    'began',
    'ended',
    'refused',
    'denied',
    'shell_opened',
    'shell_closed',
    'provisioned',
    'budget_changed',
  ]),
  /** Of the deed that it is about. */
  number: z.int().positive().nullable(),
  summary: z.string(),
})

/** outcome.json: what came of it so far, and what is going on. */
export const catalogOutcomeSchema = z.strictObject({
  ...stamp,
  asOf: time,
  state: z.enum(['idle', 'working']),
  running: z.array(
    z.strictObject({ number: z.int().positive(), action: z.string(), about: z.string(), startedAt: time }),
  ),
  counts: z.strictObject({ succeeded: count, failed: count, timedOut: count, refused: count, denials: count }),
  /** The last command that ended. Its output lies in now/stdout and now/stderr. */
  last: catalogDeedSchema.nullable(),
  lastOutput: z.strictObject({
    /** How much of it is there: the end of what was kept. */
    stdoutBytes: count,
    stderrBytes: count,
  }),
})

/** shells.json: which shells are open, and what do they do? */
export const catalogShellsSchema = z.strictObject({
  ...stamp,
  shells: z.array(
    z.strictObject({
      id: z.string(),
      kind: z.enum(['commands', 'terminal']),
      status: z.enum(['idle', 'busy', 'closed']),
      openedAt: time,
      cwd: z.string(),
      commands: count,
      queued: count,
      current: z.strictObject({ number: z.int(), command: z.string() }).nullable(),
      last: z.strictObject({ number: z.int(), command: z.string(), exitCode: z.int(), state: z.string() }).nullable(),
    }),
  ),
})

/** The whole set as one document: `sandbox.catalog()` and GET /sandboxes/{id}/catalog. */
export const catalogSchema = z.strictObject({
  catalogVersion: z.literal(catalogVersion),
  session: catalogSessionSchema,
  runtime: catalogRuntimeSchema,
  tools: catalogToolsSchema,
  permissions: catalogPermissionsSchema,
  environment: catalogEnvironmentSchema,
  vaults: catalogVaultsSchema,
  mounts: catalogMountsSchema,
  budget: catalogBudgetSchema,
  outcome: catalogOutcomeSchema,
  shells: catalogShellsSchema,
  history: z.array(catalogDeedSchema),
  events: z.array(catalogEventSchema),
  last: z.strictObject({ stdout: z.string(), stderr: z.string() }),
})

export type Catalog = z.infer<typeof catalogSchema>
export type CatalogIndex = z.infer<typeof catalogIndexSchema>
export type CatalogDeed = z.infer<typeof catalogDeedSchema>
export type CatalogEvent = z.infer<typeof catalogEventSchema>
export type CatalogBudgetLine = z.infer<typeof catalogBudgetSchema>['left'][number]
export type CatalogRun = NonNullable<z.infer<typeof catalogSessionSchema>['run']>
