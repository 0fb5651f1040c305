// A sandbox on a server, with the library's shape: whoever holds one need not know where it lives.
import type { ExecResult } from '../contract/exec.ts'
import type { SandboxId } from '../contract/ids.ts'
import type { PolicyValues } from '../contract/policy.ts'
import type { Description, Sandbox } from '../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { runCommand } from './commands.ts'
import { type Perform, remoteFiles } from './files.ts'
import { newKey } from './key.ts'
import { eachOf, type Page, type PageOptions } from './pages.ts'
import type { Server } from './server.ts'

/** Its workspace is empty and its own: nothing of the caller's host is mounted. */
export interface SandboxRequest {
  /** Default: the token's. */
  readonly project?: string
  readonly name?: string
  /** Default: the first that the server offers. */
  readonly backend?: string
  /** What is asked for. Above the operator's ceiling it is refused with POLICY_ESCALATION. */
  readonly policy?: PolicyValues
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** After so long the server ends it, whatever it does. */
  readonly lifeMs?: number
}

export interface SandboxSummary {
  readonly id: SandboxId
  readonly project: string
  readonly name: string | null
  readonly createdAt: string
  readonly expiresAt: string
  readonly backend: string
}

interface SandboxDetail extends SandboxSummary {
  readonly description: Description
}

export interface Sandboxes {
  /** `await using` ends it. */
  create(request?: SandboxRequest & { readonly signal?: AbortSignal }): Promise<Sandbox>
  /** One that is there. `await using` only lets go of it: who made it ends it, or `kill` does. */
  connect(id: string, options?: { readonly signal?: AbortSignal }): Promise<Sandbox>
  list(options?: PageOptions & { readonly project?: string }): Promise<Page<SandboxSummary>>
  /** Of every page. */
  each(options?: { readonly project?: string; readonly signal?: AbortSignal }): AsyncGenerator<SandboxSummary, void>
}

const root = '/sandboxes'

export function remoteSandboxes(server: Server): Sandboxes {
  const list: Sandboxes['list'] = ({ signal, ...query } = {}) =>
    server.json({ method: 'GET', path: root, query, signal, doing: 'list the sandboxes' })
  return {
    async create({ signal, ...request } = {}) {
      const made = await server.json<SandboxDetail>({
        method: 'POST',
        path: root,
        json: request,
        idempotencyKey: newKey(),
        signal,
        doing: 'create the sandbox',
      })
      return remoteSandbox(server, made, { owned: true })
    },
    async connect(id, { signal } = {}) {
      const path = `${root}/${encodeURIComponent(id)}`
      const found = await server.json<SandboxDetail>({ method: 'GET', path, signal, doing: 'find the sandbox' })
      return remoteSandbox(server, found, { owned: false })
    },
    list,
    each: (options = {}) => eachOf((cursor) => list(cursor === undefined ? options : { ...options, cursor })),
  }
}

/** An action may run a command, which takes its time. */
const actionMs = 10 * 60_000

function remoteSandbox(server: Server, detail: SandboxDetail, { owned }: { readonly owned: boolean }): Sandbox {
  const { id, description } = detail
  const path = `${root}/${encodeURIComponent(id)}`
  let ending: Promise<void> | undefined

  const whileAlive = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (ending !== undefined) throw gone()
    try {
      return await work()
    } catch (error) {
      throw isGone(error) ? gone(error) : error
    }
  }
  const perform: Perform = (action, input, { signal, reads = false }) =>
    whileAlive(async () => {
      const { output } = await server.json<{ readonly output: unknown }>({
        method: 'POST',
        path: `${path}/execute`,
        json: { action, input },
        repeatable: reads,
        answerMs: actionMs,
        signal,
        doing: `execute ${action}`,
      })
      return output
    })
  const kill = (): Promise<void> => {
    ending ??= server.json<void>({ method: 'DELETE', path, doing: 'kill the sandbox' }).catch((error: unknown) => {
      if (isGone(error)) return
      // It may be alive still, so it may be tried again.
      ending = undefined
      throw error
    })
    return ending
  }
  return {
    id,
    describe: () => description,
    execute: (name, input, options = {}) => perform(name, input, options),
    commands: {
      run: (command, options = {}): Promise<ExecResult> => whileAlive(() => runCommand(server, path, command, options)),
    },
    files: remoteFiles(perform),
    kill,
    [Symbol.asyncDispose]: owned ? kill : async () => {},
  }
}

/** A file that is not there has the same code, and is no end of its sandbox. */
const isGone = (error: unknown): boolean =>
  isGloveboxError(error) && error.code === 'NOT_FOUND' && error.facts['what'] === 'sandbox'

const gone = (cause?: unknown): GloveboxError =>
  new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it has been killed', { hint: 'Create a new one.', cause })
