// A real server on loopback with homes of its own, and the built client and library that speak to it. Whatever a client of this process is
// answered is held against the document that the server gives out; what is wrong is told when the ground is left.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { judgeFetched, judgingEvents, openContract, type Document } from '../fixtures/server-contract.ts'
import { glovebox, makeProject, type Project } from './command-line.ts'

const door = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href

/** From one build, so that an error of the one is an error of the other. */
export const client = (await import(door('client/index.js'))) as typeof import('../../src/client/index.ts')
export const library = (await import(door('index.js'))) as typeof import('../../src/index.ts')

export type ClientSandbox = import('../../src/client/index.ts').Sandbox

export interface ClientGround extends AsyncDisposable {
  readonly project: Project
  readonly url: string
  readonly port: number
  readonly token: string
  /** Where the server's audit log and database lie. */
  readonly state: string
  /** What comes from there is this server's, too, by way of somebody in between. */
  judgeAt(url: string): void
  /** Ends the server in good order and starts it again on the same port. */
  restart(options?: { readonly signal?: NodeJS.Signals }): Promise<void>
  stop(): Promise<void>
}

export interface GroundOptions {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Of the operator of the server. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Its port must still be free when it is started again. */
  readonly restarts?: boolean
}

export async function openClientGround({
  flags = [],
  env = {},
  settings,
  restarts = false,
}: GroundOptions = {}): Promise<ClientGround> {
  const project = makeProject()
  const state = join(project.outside, 'state')
  mkdirSync(state, { mode: 0o700 })
  if (settings !== undefined) writeFileSync(join(project.directory, 'glovebox.yaml'), JSON.stringify(settings))
  const serve = (port: number): Promise<Serving> =>
    startServing(['--port', String(port), '--data', join(project.outside, 'data'), ...flags], {
      cwd: project.directory,
      env: { ...process.env, GLOVEBOX_STATE_DIR: state, ...env },
    })
  let serving = await serve(restarts ? await quietPort() : 0)
  const { url, token = '' } = serving
  const port = Number(new URL(url).port)
  const answers = await watchAnswers(url, token)
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (serving.child.exitCode !== null || serving.child.signalCode !== null) return
    const over = once(serving.child, 'close')
    serving.child.kill(signal)
    await over
  }
  return {
    project,
    url,
    port,
    token,
    state,
    judgeAt: (other) => answers.judgeAt(other),
    async restart({ signal } = {}) {
      await end(signal)
      serving = await serve(port)
    },
    stop: () => end(),
    async [Symbol.asyncDispose]() {
      await end()
      project.remove()
      await answers.leave()
    },
  }
}

interface Answers {
  judgeAt(url: string): void
  /** Throws if any was against the document. */
  leave(): Promise<void>
}

async function watchAnswers(url: string, token: string): Promise<Answers> {
  const { fetch: plain } = globalThis
  const headers = { authorization: `Bearer ${token}` }
  const contract = openContract((await (await plain(`${url}/openapi.json`, { headers })).json()) as Document)
  const judging: Promise<readonly string[]>[] = []
  const told: string[] = []
  const places = new Set([url])
  globalThis.fetch = async (input, init) => {
    const response = await plain(input, init)
    const address = input instanceof Request ? input.url : String(input)
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    const place = [...places].find((each) => address.startsWith(`${each}/`))
    if (place === undefined) return response
    const fetched = { method, path: address.slice(place.length), response }
    judging.push(
      // Whoever asked may be gone before the end of its answer.
      judgeFetched(contract, fetched).catch((error: unknown) =>
        error instanceof SyntaxError ? [`${address}: ${error.message}`] : [],
      ),
    )
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    return isStream ? judgingEvents({ contract, tell: (faults) => void told.push(...faults) }, fetched) : response
  }
  return {
    judgeAt: (other) => void places.add(other),
    async leave() {
      globalThis.fetch = plain
      const faults = [...(await Promise.all(judging)).flat(), ...told]
      if (faults.length > 0) throw new Error(`against the document: ${faults.join('; ')}`)
    },
  }
}

/** Below those that the kernel hands out by itself, so that nobody gets it in the moment in which nobody listens on it. */
async function quietPort(): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  return isFree ? port : quietPort()
}

interface Serving {
  readonly child: ChildProcess
  readonly url: string
  readonly token?: string
}

async function startServing(
  flags: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Serving> {
  const child = spawn(process.execPath, [glovebox, 'serve', '--json', '--log-level', 'error', ...flags], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('\n')) resolve(text)
    })
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)))
  })
  return { child, ...(JSON.parse(line) as { readonly url: string; readonly token?: string }) }
}
