// How sandboxes are told to a person, here and of a server alike.
import type { SandboxSummary } from '../../../client/index.ts'
import type { SeenSandbox } from '../../../runtime/pool/keeping.ts'
import { printable, table } from '../../output.ts'

export interface PoolFlags {
  readonly server?: string
  readonly tokenFile?: string
  readonly quiet?: boolean
  readonly all?: boolean
  readonly remove?: boolean
  readonly paused?: boolean
  readonly resting?: boolean
  readonly damaged?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
  readonly debug?: boolean
}

export interface ToldSandbox {
  readonly id: string
  readonly state: string
  readonly backend: string | null
  readonly project: string | null
  readonly key: string | null
  readonly name: string | null
  readonly createdAt: string | null
  readonly expiresAt: string | null
  /** Of the process that has it, on this host. */
  readonly pid: number | null
}

export const toldHere = ({ id, state, record, pid }: SeenSandbox): ToldSandbox => ({
  id,
  state,
  backend: record?.backend ?? null,
  project: record?.project ?? null,
  key: record?.key ?? null,
  name: record?.name ?? null,
  createdAt: record?.created_at ?? null,
  expiresAt: record?.expires_at ?? null,
  pid,
})

export const toldThere = (summary: SandboxSummary): ToldSandbox => {
  const { id, state, backend, project, key, name, createdAt, expiresAt } = summary
  return { id, state, backend, project, key, name, createdAt, expiresAt, pid: null }
}

export function asTable(all: readonly ToldSandbox[], now = Date.now()): string {
  const rows = all.map(({ id, state, backend, project, key, name, createdAt, expiresAt, pid }) => [
    id,
    pid === null ? state : `${state} (${pid})`,
    backend ?? '-',
    project ?? '-',
    key ?? name ?? '-',
    createdAt === null ? '-' : `${about(now - Date.parse(createdAt))} ago`,
    expiresAt === null ? '-' : untilText(Date.parse(expiresAt) - now),
  ])
  const head = ['ID', 'STATE', 'BACKEND', 'PROJECT', 'KEY', 'CREATED', 'ENDS']
  return `${table([head, ...rows].map((row) => row.map(printable))).join('\n')}\n`
}

/** Empty where there is nothing to say. */
export function damagedRemark(all: readonly { readonly state: string }[]): string {
  const count = all.filter(({ state }) => state === 'damaged').length
  if (count === 0) return ''
  const which = count === 1 ? '1 sandbox is damaged' : `${count} sandboxes are damaged`
  return `glovebox: ${which}: the record is missing or cannot be read. To remove: glovebox prune --damaged (with --dry-run it only shows).\n`
}

const untilText = (ms: number): string => (ms > 0 ? `in ${about(ms)}` : 'past')

/** A life may be of days, and nobody reads minutes of it. */
function about(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}
