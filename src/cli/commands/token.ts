// `glovebox token create | list | revoke`: on the database of the server, whether it runs or not.
import { tokenScopes, type PageKey, type TokenScope } from '../../contract/store.ts'
import {
  maxLifeSeconds,
  projectSchema,
  tokenIdSchema,
  tokenRequestSchema,
  type TokenInfo,
} from '../../contract/token.ts'
import { GloveboxError } from '../../errors/error.ts'
import { holdsSecret, isExpired, type TokenDesk } from '../../runtime/server/tokens.ts'
import { withTokens } from '../../runtime/server/with-tokens.ts'
import { jsonLine, printable, table } from '../output.ts'
import type { Doing } from '../program.ts'

export interface TokenFlags {
  readonly scope?: TokenScope
  readonly project?: string
  readonly expires?: number
  readonly json?: boolean
  readonly debug?: boolean
}

async function create(asked: string, flags: TokenFlags, { face }: Doing): Promise<number> {
  const scope = tokenScopes.find((known) => known === flags.scope) ?? 'exec'
  const name = checkName(asked)
  const project = flags.project === undefined ? null : checkProject(flags.project)
  const expiresAt = flags.expires === undefined ? null : endOf(flags.expires)
  const request = { name, scopes: [scope], project, expiresAt, createdBy: null }
  const { secret, info } = await withTokens(({ desk, recorded }) =>
    recorded('token.create', name, () => desk.issue(request)),
  )
  await face.out.write(flags.json === true ? jsonLine({ ...info, token: secret }) : `${secret}\n`)
  if (flags.json !== true)
    await face.err.write(`${info.id}: ${scope}, ${project ?? 'every project'}. It is shown this once.\n`)
  return 0
}

async function list(flags: TokenFlags, { face }: Doing): Promise<number> {
  const all: TokenInfo[] = []
  await withTokens(async ({ desk }) => {
    for await (const info of tokensOf(desk)) all.push(info)
  })
  if (flags.json === true) {
    for (const info of all) await face.out.write(jsonLine(info))
    return 0
  }
  const now = Date.now()
  const rows = all.map((info) => [info.id, info.scopes.join(','), info.project ?? '*', stateOf(info, now), info.name])
  const lines = table([['ID', 'SCOPE', 'PROJECT', 'STATE', 'NAME'], ...rows].map((row) => row.map(printable)))
  await face.out.write(`${lines.join('\n')}\n`)
  return 0
}

function stateOf(info: TokenInfo, now: number): string {
  if (info.revoked_at !== null) return 'revoked'
  if (info.expires_at === null) return 'in force'
  return isExpired(info, now) ? 'expired' : `until ${info.expires_at}`
}

async function revoke(asked: string, flags: TokenFlags, { face }: Doing): Promise<number> {
  // SECURITY: what is recorded stays for ever, and whoever has a secret to hand takes it for the name of its token.
  // test/e2e/token-secret: "a secret that is given in place of an id is neither shown nor recorded"
  if (holdsSecret(asked)) throw secretGiven()
  const id = await withTokens(async ({ desk, recorded }) => {
    const meant = await idOf(asked, desk)
    await recorded('token.revoke', meant, () => desk.revoke(meant))
    return meant
  })
  await face.out.write(flags.json === true ? jsonLine({ id, revoked: true }) : `${id} is revoked.\n`)
  return 0
}

const pageRows = 1000

async function* tokensOf(desk: TokenDesk): AsyncGenerator<TokenInfo> {
  for (let after: PageKey | null | undefined; after !== null;) {
    const { rows, next } = await desk.list({}, { limit: pageRows, after })
    yield* rows
    after = next
  }
}

/** The whole id, or the beginning of one. */
async function idOf(asked: string, desk: TokenDesk): Promise<string> {
  if (tokenIdSchema.safeParse(asked).success && (await desk.show(asked)) !== undefined) return asked
  if ('tok_'.startsWith(asked)) throw unclear(asked, 'every id begins so')
  const meant: string[] = []
  for await (const { id } of tokensOf(desk)) if (id.startsWith(asked)) meant.push(id)
  const [one, another] = meant
  if (one === undefined) throw unknown(asked)
  if (another !== undefined) throw unclear(asked, `${meant.length} begin so`)
  return one
}

function checkName(text: string): string {
  const parsed = tokenRequestSchema.shape.name.safeParse(text)
  if (parsed.success) return parsed.data
  throw new GloveboxError('INVALID_INPUT', 'Cannot make the token: its name must have from 1 to 200 characters', {
    hint: 'Say who or what uses it: glovebox token create ci.',
  })
}

function checkProject(text: string): string {
  const parsed = projectSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot make the token: the project ${parsed.error.issues[0]?.message ?? ''}`,
  )
}

function endOf(lifeMs: number): string {
  if (lifeMs > maxLifeSeconds * 1000)
    throw new GloveboxError('INVALID_INPUT', 'Cannot make the token: it would live longer than ten years', {
      hint: 'Give --expires at most 3650d, or leave it out: the token then lives until it is revoked.',
    })
  return new Date(Date.now() + lifeMs).toISOString()
}

const secretGiven = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot revoke the token: what was given looks like the token itself', {
    hint: 'Give its id, which begins with tok_; `glovebox token list` shows it. The token is in the history of your shell now.',
  })

const unclear = (asked: string, why: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot tell which token "${asked}" means: ${why}`, {
    hint: 'Write more of its id; `glovebox token list` shows it.',
  })

const unknown = (asked: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', `Cannot revoke "${asked}": there is no such token`, {
    hint: '`glovebox token list` shows them.',
  })

export const token = { create, list, revoke } as const
