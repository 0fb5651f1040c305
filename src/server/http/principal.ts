// Who asks: a token's rights, and the projects that it may see. Made by authentication alone.
import type { TokenScope } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'

export interface Principal {
  readonly tokenId: string
  readonly scopes: ReadonlySet<TokenScope>
  /** Null: every project. */
  readonly project: string | null
  /** `token:tok_…`, as the audit log has it. */
  readonly actor: string
  /** Null: it does not end by itself. */
  readonly expiresAt: string | null
  /** Is the token still good? Asked by what lasts longer than a request. */
  readonly stillGood: () => Promise<boolean>
}

/** Where a token of every project makes things without saying where. */
export const defaultProject = 'default'

/**
 * SECURITY: an object of another project is told as one that does not exist, so that nobody can ask which ids are taken.
 * test/e2e/server-identity: "an object of another project is not found"
 */
export function requireVisible<Owned extends { readonly project: string | null }>(
  principal: Principal,
  object: Owned | undefined,
  what: string,
): Owned {
  if (object !== undefined && (principal.project === null || principal.project === object.project)) return object
  throw notFound(what)
}

/** The project in which something is to be made. */
export function projectFor(principal: Principal, asked: string | undefined): string {
  if (principal.project === null) return asked ?? defaultProject
  if (asked === undefined || asked === principal.project) return principal.project
  throw notFound('project')
}

/** For lists: undefined means all. */
export const visibleProject = (principal: Principal, asked?: string): string | undefined =>
  principal.project === null ? asked : projectFor(principal, asked)

export const notFound = (what: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', `Cannot find the ${what}: there is none with that name`, {
    hint: 'Check the id, and that the token belongs to its project.',
    // A client must be able to tell a sandbox that is gone from a file that is not there.
    facts: { what },
  })
