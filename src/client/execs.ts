// Execs of the API, from afar: made once however often the request had to be sent, and followed to their end over as many
// connections as it takes. Fields have the names of the API.
import type { ExecArtifacts, ExecEvent, ExecHealth, ExecRecord, ExecRequest } from '../contract/exec-record.ts'
import type { ExecStatus } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { fromBase64 } from './base64.ts'
import { download } from './download.ts'
import { followEvents } from './follow.ts'
import { newKey } from './key.ts'
import { eachOf, type Page, type PageOptions } from './pages.ts'
import { pathOf } from './path.ts'
import { make } from './make.ts'
import { requireWanted, type Server } from './server.ts'

export interface ExecFilter {
  readonly project_id?: string
  readonly task_id?: string
  readonly conversation_id?: string
  readonly skill_id?: string
  readonly status?: ExecStatus
}

export interface ExecCreateOptions {
  /** Under one key there is one exec, however often it is asked for. Default: a new one. */
  readonly idempotencyKey?: string
  /** Cancels what is made all the same, unless a key of the caller's names it: another request may have made it. */
  readonly signal?: AbortSignal
}

export interface ExecRunOptions extends ExecCreateOptions {
  readonly onStdout?: (chunk: Uint8Array) => void | Promise<void>
  readonly onStderr?: (chunk: Uint8Array) => void | Promise<void>
}

/** An event with its place in the stream: whoever keeps the id can go on behind it. */
export type StreamedExecEvent =
  | { readonly id: string; readonly type: 'state'; readonly status: ExecStatus }
  | ({ readonly type: 'stdout' } & StreamedOutput)
  | ({ readonly type: 'stderr' } & StreamedOutput)
  | { readonly id: string; readonly type: 'end'; readonly exec: ExecRecord }

interface StreamedOutput {
  readonly id: string
  /** How many bytes of this output lie before it. */
  readonly offset: number
  readonly chunk: Uint8Array
}

export interface StreamOptions {
  /** The id of the last event that was read. */
  readonly after?: string
  readonly signal?: AbortSignal
}

export interface Execs {
  /** Answers when the exec is accepted. */
  create(request: ExecRequest, options?: ExecCreateOptions): Promise<ExecRecord>
  /** Answers when it has ended. A signal cancels it; its record then says so. */
  run(request: ExecRequest, options?: ExecRunOptions): Promise<ExecRecord>
  get(execId: string, options?: { readonly signal?: AbortSignal }): Promise<ExecRecord>
  list(filter?: ExecFilter, options?: PageOptions): Promise<Page<ExecRecord>>
  /** Of every page. */
  each(filter?: ExecFilter, options?: { readonly signal?: AbortSignal }): AsyncGenerator<ExecRecord, void>
  /** To its end: each state, and every byte of its output once. */
  stream(execId: string, options?: StreamOptions): AsyncGenerator<StreamedExecEvent, void>
  /** One that has ended stays as it is. */
  cancel(execId: string): Promise<ExecRecord>
  artifacts(execId: string): Promise<ExecArtifacts>
  /** The bytes of one artifact, as they come. */
  read(
    execId: string,
    path: string,
    options?: { readonly by?: 'server' | 'guest'; readonly signal?: AbortSignal },
  ): AsyncGenerator<Uint8Array, void>
  health(): Promise<ExecHealth>
}

const root = '/sandbox/execs'

export function remoteExecs(server: Server): Execs {
  const placeOf = (execId: string): string => `${root}/${encodeURIComponent(execId)}`
  const create: Execs['create'] = (request, { idempotencyKey, signal } = {}) => {
    const asked = { method: 'POST', path: root, query: { wait: false }, json: request, doing: 'run the exec' } as const
    if (idempotencyKey !== undefined) return server.json({ ...asked, idempotencyKey, signal })
    const takeBack = ({ exec_id }: ExecRecord): Promise<ExecRecord> => cancel(exec_id)
    return make(server, { ...asked, idempotencyKey: newKey(), signal }, takeBack)
  }
  const list: Execs['list'] = (filter = {}, { signal, ...page } = {}) =>
    server.json({ method: 'GET', path: root, query: { ...filter, ...page }, signal, doing: 'list the execs' })
  // To cancel twice is to cancel once.
  const cancel: Execs['cancel'] = (execId) =>
    server.json({ method: 'POST', path: `${placeOf(execId)}/cancel`, repeatable: true, doing: 'cancel the exec' })
  const stream: Execs['stream'] = (execId, options = {}) => streamExec(server, placeOf(execId), options)
  return {
    create,
    async run(request, options = {}) {
      const { idempotencyKey = newKey(), signal } = options
      requireWanted({ signal, doing: 'run the exec' })
      // Its signal ends the exec and not this request, whose answer names it.
      const { exec_id } = await create(request, { idempotencyKey })
      return followExec({ stream: () => stream(exec_id), cancel: () => cancel(exec_id) }, options)
    },
    get: (execId, { signal } = {}) =>
      server.json({ method: 'GET', path: placeOf(execId), signal, doing: 'find the exec' }),
    list,
    each: (filter, options = {}) =>
      eachOf((cursor) => list(filter, cursor === undefined ? options : { ...options, cursor })),
    stream,
    cancel,
    artifacts: (execId) =>
      server.json({ method: 'GET', path: `${placeOf(execId)}/artifacts`, doing: 'list the artifacts' }),
    async *read(execId, path, { by, signal } = {}) {
      const place = `${placeOf(execId)}/artifacts/${pathOf(path)}`
      yield* download(server, { path: place, query: { by }, signal, doing: 'read the artifact' })
    },
    health: () => server.json({ method: 'GET', path: '/sandbox/health', doing: 'ask for the health of execs' }),
  }
}

async function* streamExec(
  server: Server,
  path: string,
  { after, signal }: StreamOptions,
): AsyncGenerator<StreamedExecEvent, void> {
  const next = positionIn(after)
  const isLast = ({ event }: { readonly event: string }): boolean => event === 'end'
  const followed = { path: `${path}/stream`, doing: 'follow the exec', isLast, after, signal }
  for await (const { id = '', data } of followEvents(server, followed)) {
    const event = JSON.parse(data) as ExecEvent
    if (event.type === 'state' || event.type === 'end') {
      yield { id, ...event }
      continue
    }
    const chunk = event.encoding === 'base64' ? fromBase64(event.data) : new TextEncoder().encode(event.data)
    if (event.offset !== next[event.type] || chunk.length !== event.bytes) throw outOfOrder(event.type)
    next[event.type] += chunk.length
    yield { id, type: event.type, offset: event.offset, chunk }
  }
}

/** How many bytes of each output lie before an event is the second and third part of its id. */
function positionIn(id: string | undefined): Record<'stdout' | 'stderr', number> {
  const [, stdout = '0', stderr = '0'] = /^\d+\.(\d+)\.(\d+)$/.exec(id ?? '') ?? []
  return { stdout: Number(stdout), stderr: Number(stderr) }
}

const outOfOrder = (stream: string): GloveboxError =>
  new GloveboxError(
    'UNEXPECTED_ANSWER',
    `Cannot follow the exec: a piece of its ${stream} does not follow on the last one`,
  )

interface FollowedExec {
  readonly stream: () => AsyncGenerator<StreamedExecEvent, void>
  readonly cancel: () => Promise<ExecRecord>
}

async function followExec(
  { stream, cancel }: FollowedExec,
  { signal, onStdout, onStderr }: ExecRunOptions,
): Promise<ExecRecord> {
  const stop = (): void => void cancel().catch(() => {})
  if (signal?.aborted === true) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  try {
    for await (const event of stream()) {
      if (event.type === 'end') return event.exec
      if (event.type === 'stdout') await onStdout?.(event.chunk)
      if (event.type === 'stderr') await onStderr?.(event.chunk)
    }
    throw new GloveboxError('UNEXPECTED_ANSWER', 'Cannot follow the exec: its events ended without an end')
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
