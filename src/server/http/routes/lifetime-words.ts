// What is asked and told of the life of a sandbox beside its use, and of snapshots.
import { z } from 'zod'
import { forkMethods } from '../../../contract/fork.ts'
import { projectSchema } from '../../../contract/token.ts'
import { pageQuery } from '../cursor.ts'
import { named } from '../route.ts'
import { sandboxDetail, sandboxIdSchema } from './sandbox-words.ts'

const mostForks = 100

export const sandboxUsage = named(
  'SandboxUsage',
  z.strictObject({
    memoryBytes: z.number().nonnegative().nullable().describe('Null: nothing is open, or `notCounted` says why.'),
    memoryLimitBytes: z.number().nonnegative(),
    cpuMs: z.number().nonnegative().nullable().describe('Since it was opened.'),
    cpuCores: z.number().nonnegative(),
    pids: z.number().nonnegative().nullable(),
    pidsLimit: z.number().nonnegative(),
    diskBytes: z.number().nonnegative(),
    diskEntries: z.number().nonnegative(),
    diskIsMore: z.boolean().describe('There is more than was counted.'),
    notCounted: z
      .array(z.strictObject({ what: z.enum(['memoryBytes', 'pids', 'cpuMs']), why: z.string() }))
      .describe('What the backend of an open sandbox cannot tell.'),
  }),
)
export const renewRequest = named('RenewRequest', z.strictObject({ lifeMs: z.int().positive() }))
export const forkRequest = named(
  'ForkRequest',
  z.strictObject({
    count: z.int().min(1).max(mostForks).optional().describe('Default: 1.'),
    lifeMs: z.int().positive().optional().describe('Default: as long as the other one was given.'),
  }),
)
export const forks = named('Forks', z.strictObject({ items: z.array(sandboxDetail.schema) }))

export const snapshotIdSchema = z.string().regex(/^snap_[0-9a-f]{32}$/, 'must be an id of a snapshot')
export const snapshotParams = z.strictObject({ snapshot_id: snapshotIdSchema })
export const snapshotRequest = named('SnapshotRequest', z.strictObject({ name: z.string().min(1).max(200).optional() }))
export const snapshotShape = named(
  'Snapshot',
  z.strictObject({
    id: snapshotIdSchema,
    project: z.string(),
    name: z.string().nullable(),
    sandboxId: sandboxIdSchema,
    createdAt: z.string(),
    by: z.enum(forkMethods).describe('`overlay` and `reflink` copy nothing; `copy` has copied every byte.'),
  }),
)
export const snapshotQuery = z.strictObject({
  ...pageQuery,
  project: projectSchema.optional(),
  sandbox_id: sandboxIdSchema.optional(),
  name: z.string().min(1).max(200).optional(),
})
export const snapshotPage = named(
  'SnapshotPage',
  z.strictObject({ items: z.array(snapshotShape.schema), next_cursor: z.string().nullable() }),
)
