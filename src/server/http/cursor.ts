// Cursors of lists: opaque to the caller, and signed for one list and one project, so that none can be made up or carried over.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Page, PageKey } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Principal } from './principal.ts'

const signatureBytes = 16

export interface Cursors {
  sign(key: PageKey, list: string, principal: Principal): string
  /** INVALID_CURSOR unless it was signed for the same list and principal's project. */
  read(text: string, list: string, principal: Principal): PageKey
}

export function createCursors(secret: Uint8Array): Cursors {
  const signatureOf = (payload: string, list: string, { project }: Principal): Buffer =>
    createHmac('sha256', secret)
      .update(JSON.stringify([list, project, payload]))
      .digest()
      .subarray(0, signatureBytes)
  return {
    sign({ created_at, id }, list, principal) {
      const payload = Buffer.from(JSON.stringify([created_at, id])).toString('base64url')
      return `${payload}.${signatureOf(payload, list, principal).toString('base64url')}`
    },
    // SECURITY: whoever could make up a cursor could ask the database to begin at another project's row.
    // test/e2e/server-identity: "a cursor that was forged or belongs to another project is refused"
    // SECURITY: who reads the database can, since the key lies there: the caller's project is in each query, wherever a list begins.
    // test/faults/execs-postgres: "a cursor made up with the key out of the database shows nobody else's rows, and faults nothing"
    read(text, list, principal) {
      const [payload = '', signature = ''] = text.split('.')
      const given = Buffer.from(signature, 'base64url')
      const expected = signatureOf(payload, list, principal)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw refused()
      return parse(Buffer.from(payload, 'base64url').toString('utf8'))
    },
  }
}

/** Times and ids. PostgreSQL fails on a NUL, and nothing of ours has one. */
const word = z.string().regex(/^[\x20-\x7e]{1,300}$/)
const keySchema = z.tuple([word, word])

function parse(text: string): PageKey {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw refused()
  }
  const { success, data } = keySchema.safeParse(json)
  if (!success) throw refused()
  const [created_at, id] = data
  return { created_at, id }
}

const refused = (): GloveboxError =>
  new GloveboxError('INVALID_CURSOR', 'Cannot go on from there: the cursor is not one of this list', {
    hint: 'Begin again without a cursor.',
  })

/** How every list is asked for. A larger limit than the server's gives the server's. */
export const pageQuery = {
  limit: z.coerce.number().int().positive().optional(),
  cursor: z.string().min(1).max(1000).optional(),
} as const

export interface PageAsked {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export interface Lister {
  readonly cursors: Cursors
  readonly pageRows: number
}

const customaryRows = 50

export async function answerPage<Row, Shown>(
  { cursors, pageRows }: Lister,
  asked: { readonly list: string; readonly principal: Principal; readonly query: PageAsked },
  look: (page: { readonly limit: number; readonly after?: PageKey }) => Promise<Page<Row>> | Page<Row>,
  show: (row: Row) => Shown,
): Promise<{ readonly items: readonly Shown[]; readonly next_cursor: string | null }> {
  const { list, principal, query } = asked
  const limit = Math.min(query.limit ?? customaryRows, pageRows)
  const { rows, next } = await look(
    query.cursor === undefined ? { limit } : { limit, after: cursors.read(query.cursor, list, principal) },
  )
  return { items: rows.map(show), next_cursor: next === null ? null : cursors.sign(next, list, principal) }
}
