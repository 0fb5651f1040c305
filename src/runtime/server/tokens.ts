// Tokens: made, found and revoked. The database has only hashes. A token in force is believed for a few seconds, so that a
// busy caller does not ask the database each time; a revoked one is therefore good for at most that long. Of all others nothing is
// remembered: each refusal costs one look-up, whatever its reason, and strangers who make tokens up fill no memory.
import { createHash, randomBytes } from 'node:crypto'
import { chance } from '../../contract/chance.ts'
import type { Page, PageRequest, TokenRow, TokenScope, TokenTable } from '../../contract/store.ts'
import { tokenPrefix, type TokenInfo } from '../../contract/token.ts'

const believedMs = 5000
const maxRemembered = 10_000
/** Clocks of two machines may differ by so much; a token may be used so much before it begins, and no longer than it lasts. */
const skewMs = 60_000

export interface IssueRequest {
  readonly name: string
  readonly scopes: readonly TokenScope[]
  readonly project: string | null
  readonly expiresAt: string | null
  readonly createdBy: string | null
}

export interface Issued {
  readonly secret: string
  readonly info: TokenInfo
}

export interface TokenDesk {
  /** The secret exists only in this answer. */
  issue(request: IssueRequest): Promise<Issued>
  /** Undefined where there is one already. */
  issueFirst(): Promise<Issued | undefined>
  /** One that is in force, if it was found a moment ago. */
  remembered(secret: string): TokenRow | undefined
  /** By the secret. Expired and revoked ones too. */
  find(secret: string): Promise<TokenRow | undefined>
  /** As long as `find` takes for one that is not known. */
  findNone(): Promise<void>
  show(id: string): Promise<TokenInfo | undefined>
  list(filter: { readonly project?: string | undefined }, page: PageRequest): Promise<Page<TokenInfo>>
  /** False if there is none. */
  revoke(id: string): Promise<boolean>
  count(): Promise<number>
}

interface Remembered {
  readonly row: TokenRow
  readonly until: number
}

export function openTokenDesk(table: TokenTable, now: () => number = () => performance.now()): TokenDesk {
  const remembered = new Map<string, Remembered>()

  const rememberedAs = (hash: string): TokenRow | undefined => {
    const known = remembered.get(hash)
    return known !== undefined && known.until > now() && isInForce(known.row, Date.now()) ? known.row : undefined
  }
  const lookUp = async (hash: string): Promise<TokenRow | undefined> => {
    const row = await table.findByHash(hash)
    if (row === undefined || !isInForce(row, Date.now())) return row
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(hash, { row, until: now() + believedMs })
    return row
  }

  return {
    async issue(request) {
      const { secret, row } = draw(request)
      await table.insert(row)
      return { secret, info: infoOf(row) }
    },
    async issueFirst() {
      const { secret, row } = draw(first)
      return (await table.insertFirst(row)) ? { secret, info: infoOf(row) } : undefined
    },
    remembered: (secret) => rememberedAs(hashOf(secret)),
    async find(secret) {
      const hash = hashOf(secret)
      return rememberedAs(hash) ?? lookUp(hash)
    },
    findNone: async () => void (await lookUp(hashOf(standIn))),
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

const first: IssueRequest = { name: 'first', scopes: ['admin'], project: null, expiresAt: null, createdBy: null }

function draw({ name, scopes, project, expiresAt, createdBy }: IssueRequest): {
  readonly secret: string
  readonly row: TokenRow
} {
  const secret = `${tokenPrefix}${randomBytes(32).toString('base64url')}`
  const row: TokenRow = {
    id: `tok_${chance()}`,
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
  return { secret, row }
}

/** In whatever it was pasted with. Ids have no such thing in them. */
export const holdsSecret = (text: string): boolean => text.includes(tokenPrefix)

/** Nobody's, and as long as one that is, so that its hash takes as long. 32 bytes never read so: their last letter stands for four bits. */
const standIn = `${tokenPrefix}${'-'.repeat(43)}`

export const isInForce = (row: TokenRow, now: number): boolean =>
  row.revoked_at === null &&
  !isExpired(row, now) &&
  (row.not_before === null || Date.parse(row.not_before) - skewMs <= now)

/** A time that cannot be read has come. */
export const isExpired = ({ expires_at }: Pick<TokenRow, 'expires_at'>, now: number): boolean =>
  expires_at !== null && !(now < Date.parse(expires_at))

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

function infoOf(row: TokenRow): TokenInfo {
  const { id, name, project, not_before, expires_at, revoked_at, created_at, created_by } = row
  return { id, name, scopes: [...row.scopes], project, not_before, expires_at, revoked_at, created_at, created_by }
}
