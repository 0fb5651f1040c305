// A token as it is handed out: a prefix by which scanners and people know it, and 256 bits of chance. Only its hash is kept.
import { z } from 'zod'
import { idSchema, timestampSchema } from './run.ts'
import { tokenScopes } from './store.ts'

export const tokenPrefix = 'gbx_'
export const tokenIdSchema = z.string().regex(/^tok_[0-9a-f]{32}$/, 'must be an id of a token')

/** Projects are named like every id: they become directories. */
export const projectSchema = idSchema

/** What is shown of a token: never the token, nor its hash. */
export const tokenInfoSchema = z.strictObject({
  id: tokenIdSchema,
  name: z.string(),
  scopes: z.array(z.enum(tokenScopes)),
  project: projectSchema.nullable().describe('Null: every project.'),
  not_before: timestampSchema.nullable(),
  expires_at: timestampSchema.nullable(),
  revoked_at: timestampSchema.nullable(),
  created_at: timestampSchema,
  created_by: tokenIdSchema.nullable(),
})
export type TokenInfo = z.infer<typeof tokenInfoSchema>

export const maxLifeSeconds = 10 * 365 * 24 * 3600

export const tokenRequestSchema = z.strictObject({
  name: z.string().min(1).max(200),
  scopes: z.array(z.enum(tokenScopes)).min(1).max(tokenScopes.length),
  project: projectSchema.nullable().optional().describe("Absent: the maker's own. Null: every project."),
  expires_in_seconds: z.int().positive().max(maxLifeSeconds).optional().describe("Absent: as long as the maker's."),
})
export type TokenRequest = z.infer<typeof tokenRequestSchema>
