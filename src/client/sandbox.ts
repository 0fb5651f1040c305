// A sandbox on a server, with the library's shape: whoever holds one need not know where it lives.
import type { ExecResult } from '../contract/exec.ts'
import type { PolicyValues } from '../contract/policy.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { runCommand } from './commands.ts'
import { type Perform, remoteFiles } from './files.ts'
import { newKey } from './key.ts'
import { make } from './make.ts'
import {
  remoteLifetimes,
  remoteSnapshots,
  type Lifetimes,
  type SandboxDetail,
  type SandboxState,
  type SandboxSummary,
  type Snapshots,
} from './lifetimes.ts'
import { eachOf, type Page, type PageOptions } from './pages.ts'
import type { Server } from './server.ts'
import { remoteShells } from './shells.ts'

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
  /** After so long the server ends it, whatever it does. It can be renewed. */
  readonly lifeMs?: number
  /** The same key gives the same sandbox; `await using` then gives it back, and does not end it. */
  readonly key?: string
  /** For people and for lists; nothing of it reaches the guest. */
  readonly metadata?: Readonly<Record<string, string>>
  /** `thread`: /mnt/user-data with workspace, uploads and outputs, and /mnt/skills. */
  readonly layout?: 'workspace' | 'thread'
  /** Directories that the server's operator offers, by name. */
  readonly mounts?: readonly { readonly name: string; readonly guestPath: string; readonly mode?: 'ro' | 'rw' }[]
  /** Begin with its files. */
  readonly snapshot?: string
  /** When its life is over it is destroyed (default), or paused. */
  readonly atEnd?: 'destroy' | 'pause'
}

export interface SandboxFilter {
  readonly project?: string
  /** All of these. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly states?: readonly SandboxState[]
}

export interface Sandboxes extends Lifetimes {
  readonly snapshots: Snapshots
  /** `await using` ends it, unless it has a key. So does its signal, where it is made all the same. */
  create(request?: SandboxRequest & { readonly signal?: AbortSignal }): Promise<Sandbox>
  /** One that is there. `await using` only lets go of it: who made it ends it, or `kill` does. */
  connect(id: string, options?: { readonly signal?: AbortSignal }): Promise<Sandbox>
  list(options?: PageOptions & SandboxFilter): Promise<Page<SandboxSummary>>
  /** Of every page. */
  each(options?: SandboxFilter & { readonly signal?: AbortSignal }): AsyncGenerator<SandboxSummary, void>
}

const root = '/sandboxes'

export function remoteSandboxes(server: Server): Sandboxes {
  const lifetimes = remoteLifetimes(server)
  const list: Sandboxes['list'] = ({ signal, metadata, states, ...plain } = {}) => {
    const query = {
      ...plain,
      metadata: metadata && new URLSearchParams(metadata).toString(),
      state: states?.join(','),
    }
    return server.json({ method: 'GET', path: root, query, signal, doing: 'list the sandboxes' })
  }
  const end = (id: string): Promise<void> =>
    server.json({ method: 'DELETE', path: `${root}/${encodeURIComponent(id)}`, doing: 'kill the sandbox' })
  return {
    ...lifetimes,
    snapshots: remoteSnapshots(server),
    async create({ signal, ...request } = {}) {
      const asked = {
        method: 'POST',
        path: root,
        json: request,
        idempotencyKey: newKey(),
        signal,
        doing: 'create the sandbox',
      } as const
      // One with a key may be somebody else's as well, and is found again under it.
      const made = await (request.key === undefined
        ? make<SandboxDetail>(server, asked, ({ id }) => end(id))
        : server.json<SandboxDetail>(asked))
      if (made.key !== null) return remoteSandbox(server, made, async () => void (await lifetimes.release(made.id)))
      return remoteSandbox(server, made, 'kill')
    },
    async connect(id, { signal } = {}) {
      const path = `${root}/${encodeURIComponent(id)}`
      const found = await server.json<SandboxDetail>({ method: 'GET', path, signal, doing: 'find the sandbox' })
      return remoteSandbox(server, found, async () => {})
    },
    list,
    each: (options = {}) => eachOf((cursor) => list(cursor === undefined ? options : { ...options, cursor })),
  }
}

/** An action may run a command, which takes its time. */
const actionMs = 10 * 60_000

function remoteSandbox(server: Server, detail: SandboxDetail, dispose: 'kill' | (() => Promise<void>)): Sandbox {
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
    shells: remoteShells(server, path, whileAlive),
    catalog: () => whileAlive(() => server.json({ method: 'GET', path: `${path}/catalog`, doing: 'read the catalog' })),
    provision: async () => {
      throw new GloveboxError(
        'POLICY_DENIED',
        "Cannot provision: the mounts and vaults of a server are its operator's",
        {
          hint: 'What they offer is asked for by name: `glovebox.sandboxes.provision(id, { mounts: { add: [{ name, guestPath }] } })`.',
        },
      )
    },
    kill,
    [Symbol.asyncDispose]: dispose === 'kill' ? kill : dispose,
  }
}

/** A file that is not there has the same code, and is no end of its sandbox. */
const isGone = (error: unknown): boolean =>
  isGloveboxError(error) && error.code === 'NOT_FOUND' && error.facts['what'] === 'sandbox'

const gone = (cause?: unknown): GloveboxError =>
  new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it has been killed', { hint: 'Create a new one.', cause })
