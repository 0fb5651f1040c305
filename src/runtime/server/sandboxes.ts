// Sandboxes that live in the server and are used over the wire. Each has its own empty workspace, belongs to a project, and
// ends when somebody ends it, when nobody has used it for a while, or when its life is over. None outlives the server.
import type { OperatorPolicy, PolicyLayer } from '../../contract/policy.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Page, PageRequest } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createSandbox } from '../create.ts'
import type { ServedBackends } from './backends.ts'
import { openCommands, type HostedCommands } from './commands.ts'
import { openShelf } from './shelf.ts'
import { openTurns } from './turns.ts'

const minute = 60_000

export interface SandboxLimits {
  readonly perToken: number
  /** In making at the same time, of all tokens in turn: each costs the host a namespace and a group. */
  readonly making: number
  readonly total: number
  readonly lifeMs: number
  readonly maxLifeMs: number
  readonly idleMs: number
  /** What may be uploaded into one sandbox. */
  readonly uploadBytes: number
  readonly uploadFiles: number
  /** Output of commands that have ended, of all sandboxes together. */
  readonly keptOutputBytes: number
}

export const defaultSandboxLimits: SandboxLimits = {
  perToken: 128,
  making: 8,
  total: 1024,
  lifeMs: 60 * minute,
  maxLifeMs: 24 * 60 * minute,
  idleMs: 30 * minute,
  uploadBytes: 1024 * 1024 * 1024,
  uploadFiles: 20_000,
  keptOutputBytes: 128 * 1024 * 1024,
}

export interface HostedSandbox {
  readonly id: SandboxId
  readonly project: string
  readonly tokenId: string
  readonly name: string | null
  readonly createdAt: string
  readonly expiresAt: string
  readonly sandbox: Sandbox
  readonly commands: HostedCommands
  /** Counts what is brought in; QUOTA_EXCEEDED when it is too much. */
  readonly takeUpload: (bytes: number) => void
}

export interface HostRequest {
  readonly project: string
  readonly tokenId: string
  readonly name?: string | undefined
  readonly backend?: string | undefined
  readonly policy?: OperatorPolicy | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
  readonly lifeMs?: number | undefined
}

export interface SandboxHouse {
  create(request: HostRequest): Promise<HostedSandbox>
  /** Using it keeps it from ending for idleness. */
  find(id: string): HostedSandbox | undefined
  list(filter: { readonly project?: string | undefined }, page: PageRequest): Page<HostedSandbox>
  destroy(id: string): Promise<void>
  readonly size: number
  /** Commands at work in all of them. */
  readonly busy: number
  close(): Promise<void>
}

export interface HouseOptions {
  readonly backends: ServedBackends
  /** Of the operator: what every request is measured by. */
  readonly layers: readonly PolicyLayer[]
  readonly env: Readonly<Record<string, string>>
  readonly limits: SandboxLimits
}

interface Kept {
  readonly hosted: HostedSandbox
  readonly life: NodeJS.Timeout
  usedAt: number
}

const sweepMs = 15_000

export function openSandboxHouse({ backends, layers, env, limits }: HouseOptions): SandboxHouse {
  const kept = new Map<string, Kept>()
  const making = new Map<string, number>()
  const turns = openTurns(limits.making)
  const shelf = openShelf(limits.keptOutputBytes)
  let isClosed = false

  const destroy = async (id: string): Promise<void> => {
    const known = kept.get(id)
    if (known === undefined) return
    kept.delete(id)
    clearTimeout(known.life)
    await known.hosted.sandbox.kill()
  }

  const sweep = setInterval(() => {
    const idleSince = performance.now() - limits.idleMs
    for (const [id, { hosted, usedAt }] of kept)
      if (usedAt < idleSince && hosted.commands.running === 0) void destroy(id).catch(() => {})
  }, sweepMs).unref()

  const admit = (tokenId: string): (() => void) => {
    const own = [...kept.values()].filter(({ hosted }) => hosted.tokenId === tokenId).length
    const underway = making.get(tokenId) ?? 0
    const all = [...making.values()].reduce((sum, count) => sum + count, kept.size)
    if (own + underway >= limits.perToken) throw quota(`the token has ${limits.perToken} sandboxes`)
    if (all >= limits.total) throw busy('the server has as many sandboxes as it may')
    making.set(tokenId, underway + 1)
    return () => {
      const left = (making.get(tokenId) ?? 1) - 1
      if (left === 0) making.delete(tokenId)
      else making.set(tokenId, left)
    }
  }

  const make = async (request: HostRequest): Promise<HostedSandbox> => {
    const backend = await backends.get(request.backend)
    const sandbox = await createSandbox({
      backend,
      layers: [...layers, ...layerOf(request)],
      env: { ...env, ...request.env },
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
    })
    if (isClosed) {
      await sandbox.kill()
      throw busy('the server is about to stop')
    }
    return host(sandbox, request)
  }

  const host = (sandbox: Sandbox, { project, tokenId, name, lifeMs = limits.lifeMs }: HostRequest): HostedSandbox => {
    const now = Date.now()
    const hosted: HostedSandbox = {
      id: sandbox.id,
      project,
      tokenId,
      name: name ?? null,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + lifeMs).toISOString(),
      sandbox,
      commands: openCommands(sandbox, shelf),
      takeUpload: uploadCounter(limits),
    }
    const life = setTimeout(() => void destroy(sandbox.id).catch(() => {}), lifeMs).unref()
    kept.set(sandbox.id, { hosted, life, usedAt: performance.now() })
    return hosted
  }

  return {
    async create(request) {
      if ((request.lifeMs ?? 0) > limits.maxLifeMs)
        throw new GloveboxError('POLICY_ESCALATION', `Cannot create the sandbox: lifeMs is above ${limits.maxLifeMs}`, {
          facts: { field: 'lifeMs', asked: request.lifeMs, allowed: limits.maxLifeMs },
        })
      const leave = admit(request.tokenId)
      const giveTurn = await turns.take(request.tokenId)
      try {
        return await make(request)
      } finally {
        giveTurn()
        leave()
      }
    },
    find(id) {
      const known = kept.get(id)
      if (known !== undefined) known.usedAt = performance.now()
      return known?.hosted
    },
    list: ({ project }, page) =>
      pageOf(
        [...kept.values()].map(({ hosted }) => hosted),
        project,
        page,
      ),
    destroy,
    get size() {
      return kept.size
    },
    get busy() {
      return [...kept.values()].reduce((sum, { hosted }) => sum + hosted.commands.running, 0)
    },
    async close() {
      isClosed = true
      clearInterval(sweep)
      await Promise.allSettled([...kept.keys()].map(destroy))
    },
  }
}

const layerOf = ({ policy }: HostRequest): readonly PolicyLayer[] =>
  policy === undefined ? [] : [{ layer: 'request', source: 'POST /sandboxes', values: policy }]

function uploadCounter(limits: SandboxLimits): (bytes: number) => void {
  let bytes = 0
  let files = 0
  return (more) => {
    if (bytes + more > limits.uploadBytes || files + 1 > limits.uploadFiles)
      throw quota(
        `at most ${limits.uploadFiles} files and ${limits.uploadBytes} bytes may be uploaded into one sandbox`,
      )
    bytes += more
    files += 1
  }
}

/** Newest first, as the store has it. */
function pageOf(
  all: readonly HostedSandbox[],
  project: string | undefined,
  { limit, after }: PageRequest,
): Page<HostedSandbox> {
  const keyOf = ({ createdAt, id }: HostedSandbox): string => `${createdAt} ${id}`
  const behind = after === undefined ? undefined : `${after.created_at} ${after.id}`
  const found = all
    .filter((one) => project === undefined || one.project === project)
    .filter((one) => behind === undefined || keyOf(one) < behind)
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1))
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > rows.length && last !== undefined
  return { rows, next: hasMore ? { created_at: last.createdAt, id: last.id } : null }
}

const quota = (cause: string): GloveboxError =>
  new GloveboxError('QUOTA_EXCEEDED', `Cannot go on: ${cause}`, { hint: 'Delete sandboxes that are no longer needed.' })

const busy = (cause: string): GloveboxError =>
  new GloveboxError('TOO_MANY_REQUESTS', `Cannot create the sandbox now: ${cause}`, {
    hint: 'Wait as long as Retry-After says.',
    facts: { retryAfterSeconds: 1 },
  })
