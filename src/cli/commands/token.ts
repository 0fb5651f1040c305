// `glovebox token create | list | revoke`: on the database of the server, whether it runs or not.
import { projectSchema, type TokenInfo } from '../../contract/token.ts'
import { tokenScopes, type TokenScope } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
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

async function create(name: string, flags: TokenFlags, { face }: Doing): Promise<number> {
  const scope = tokenScopes.find((known) => known === flags.scope) ?? 'exec'
  const project = flags.project === undefined ? null : checkProject(flags.project)
  const expiresAt = flags.expires === undefined ? null : new Date(Date.now() + flags.expires).toISOString()
  const { secret, info } = await withTokens('token.create', name, (desk) =>
    desk.issue({ name, scopes: [scope], project, expiresAt, createdBy: null }),
  )
  await face.out.write(flags.json === true ? jsonLine({ ...info, token: secret }) : `${secret}\n`)
  if (flags.json !== true)
    await face.err.write(`${info.id}: ${scope}, ${project ?? 'every project'}. It is shown this once.\n`)
  return 0
}

const pageRows = 1000

async function list(flags: TokenFlags, { face }: Doing): Promise<number> {
  const all: TokenInfo[] = []
  await withTokens(undefined, '', async (desk) => {
    let after: { readonly created_at: string; readonly id: string } | undefined
    for (;;) {
      const { rows, next } = await desk.list({}, after === undefined ? { limit: pageRows } : { limit: pageRows, after })
      all.push(...rows)
      if (next === null) return
      after = next
    }
  })
  if (flags.json === true) {
    for (const info of all) await face.out.write(jsonLine(info))
    return 0
  }
  const rows = all.map(({ id, name, scopes, project, expires_at, revoked_at }) => [
    id,
    scopes.join(','),
    project ?? '*',
    revoked_at !== null ? 'revoked' : expires_at === null ? 'in force' : `until ${expires_at}`,
    name,
  ])
  const lines = table([['ID', 'SCOPE', 'PROJECT', 'STATE', 'NAME'], ...rows].map((row) => row.map(printable)))
  await face.out.write(`${lines.join('\n')}\n`)
  return 0
}

async function revoke(asked: string, flags: TokenFlags, { face }: Doing): Promise<number> {
  const id = await withTokens('token.revoke', asked, async (desk) => {
    const { rows } = await desk.list({}, { limit: pageRows })
    const exact = rows.filter((row) => row.id === asked)
    const meant = exact.length > 0 ? exact : rows.filter((row) => asked.length > 4 && row.id.startsWith(asked))
    const [one, another] = meant
    if (one === undefined) throw unknown(asked)
    if (another !== undefined)
      throw new GloveboxError('INVALID_INPUT', `Cannot tell which token "${asked}" means: ${meant.length} begin so`)
    await desk.revoke(one.id)
    return one.id
  })
  await face.out.write(flags.json === true ? jsonLine({ id, revoked: true }) : `${id} is revoked.\n`)
  return 0
}

function checkProject(text: string): string {
  const parsed = projectSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot make the token: the project ${parsed.error.issues[0]?.message ?? ''}`,
  )
}

const unknown = (asked: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', `Cannot revoke "${asked}": there is no such token`, {
    hint: '`glovebox token list` shows them.',
  })

export const token = { create, list, revoke } as const
