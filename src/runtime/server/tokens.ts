// Tokens: made, found and revoked. The database has only hashes. What was found is believed for a few seconds, so that a
// busy caller does not ask the database each time; a revoked token is therefore good for at most that long.
import { createHash, randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { Page, PageRequest, TokenRow, TokenScope, TokenTable } from '../../contract/store.ts'
import { tokenPrefix, type TokenInfo } from '../../contract/token.ts'

const believedMs = 5000
/** Strangers can make up tokens without end; what is not one is remembered for a moment only, and not all of it. */
const unknownMs = 1000
const maxRemembered = 10_000

export interface IssueRequest {
  readonly name: string
  readonly scopes: readonly TokenScope[]
  readonly project: string | null
  readonly expiresAt: string | null
  readonly createdBy: string | null
}

export interface TokenDesk {
  /** The secret exists only in this answer. */
  issue(request: IssueRequest): Promise<{ readonly secret: string; readonly info: TokenInfo }>
  /** By the secret. Expired and revoked ones too. */
  find(secret: string): Promise<TokenRow | undefined>
  show(id: string): Promise<TokenInfo | undefined>
  list(filter: { readonly project?: string | undefined }, page: PageRequest): Promise<Page<TokenInfo>>
  /** False if there is none. */
  revoke(id: string): Promise<boolean>
  count(): Promise<number>
}

interface Remembered {
  readonly row: TokenRow | undefined
  readonly until: number
}

export function openTokenDesk(table: TokenTable, now: () => number = () => performance.now()): TokenDesk {
  const remembered = new Map<string, Remembered>()

  const remember = (hash: string, row: TokenRow | undefined): void => {
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(hash, { row, until: now() + (row === undefined ? unknownMs : believedMs) })
  }

  return {
    async issue({ name, scopes, project, expiresAt, createdBy }) {
      const secret = `${tokenPrefix}${randomBytes(32).toString('base64url')}`
      const row: TokenRow = {
        id: `tok_${v7().replaceAll('-', '')}`,
        name,
        hash: hashOf(secret),
        scopes: [...new Set(scopes)],
        project,
        not_before: null,
        expires_at: expiresAt,
        revoked_at: null,
        created_at: new Date().toISOString(),
        created_by: createdBy,
      }
      await table.insert(row)
      return { secret, info: infoOf(row) }
    },
    async find(secret) {
      const hash = hashOf(secret)
      const known = remembered.get(hash)
      if (known !== undefined && known.until > now()) return known.row
      const row = await table.findByHash(hash)
      remember(hash, row)
      return row
    },
    async show(id) {
      const row = await table.find(id)
      return row === undefined ? undefined : infoOf(row)
    },
    async list(filter, page) {
      const { rows, next } = await table.list(filter, page)
      return { rows: rows.map(infoOf), next }
    },
    async revoke(id) {
      const found = await table.revoke(id, new Date().toISOString())
      remembered.clear()
      return found
    },
    count: () => table.count(),
  }
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

function infoOf(row: TokenRow): TokenInfo {
  const { id, name, project, not_before, expires_at, revoked_at, created_at, created_by } = row
  return { id, name, scopes: [...row.scopes], project, not_before, expires_at, revoked_at, created_at, created_by }
}
