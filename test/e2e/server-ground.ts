// The real server as a stranger meets it: started from the command line, spoken to over HTTP. Every answer to `call` is held
// against the OpenAPI document that the server itself gives out, and must forbid to keep it and to guess at it.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, start, type Finished, type Started } from './command-line.ts'
import {
  headerOf,
  judgeHeard,
  openContract,
  unkeptFaults,
  type Contract,
  type Document,
} from '../fixtures/server-contract.ts'

export interface Asked {
  /** Default: the first token. Null: none. */
  readonly token?: string | null
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** It is no operation of the document: a preflight. */
  readonly isUndocumented?: true
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly bytes: Buffer
  /** A value of the JSON by its path: `at('error.code')`. */
  at(path: string): unknown
}

export interface ServerGround {
  readonly url: string
  readonly port: number
  /** Of the first start: every scope, every project. */
  readonly token: string
  readonly contract: Contract
  readonly state: string
  readonly data: string
  readonly directory: string
  readonly server: Started
  call(method: string, path: string, asked?: Asked): Promise<Answered>
  /** For whoever reads the answer by himself: what is there before its body was judged. */
  open(method: string, path: string, asked?: Asked): Promise<IncomingMessage>
  /** With another token than the first; `scopes` as the API has them. */
  makeToken(scope: string, project: string | null, more?: Readonly<Record<string, unknown>>): Promise<string>
  glovebox(argv: readonly string[]): Promise<Finished>
  log(): string
  stop(): Promise<Finished>
}

export interface GroundOptions {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Go on in the place of an earlier server. */
  readonly place?: string
  readonly token?: string
  /** A program with its arguments that hands over to the server. */
  readonly through?: readonly string[]
}

export async function startServer(options: GroundOptions = {}): Promise<ServerGround> {
  const place = options.place ?? realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-server-')))
  const [state, data, directory] = ['state', 'data', 'cwd'].map((name) => join(place, name)) as [string, string, string]
  for (const path of [state, directory]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const env = { GLOVEBOX_STATE_DIR: state, ...options.env }
  const server = start(['serve', '--port', '0', '--data', data, '--json', ...(options.flags ?? [])], {
    cwd: directory,
    env,
    ...(options.through === undefined ? {} : { through: options.through }),
  })
  let log = ''
  server.child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const told = await firstLine(server)
  const url = String(told['url'])
  const token = options.token ?? String(told['token'])
  const plain = (method: string, path: string, asked: Asked = {}): Promise<IncomingMessage> =>
    send(url, method, path, asked, token)
  const document = await gathered(await plain('GET', '/openapi.json'))
  const contract = openContract(JSON.parse(document.text) as Document)

  // As it was sent: whoever sends it takes `..` out of it first.
  const pathOf = (path: string): string => new URL(`${url}${path}`).pathname
  const call = async (method: string, path: string, asked: Asked = {}): Promise<Answered> => {
    const response = await plain(method, path, asked)
    const answer = await gathered(response)
    const header = headerOf(response)
    const faults =
      asked.isUndocumented === true
        ? unkeptFaults(header)
        : judgeHeard(contract, { method, path: pathOf(path) }, { ...answer, header })
    refuseFaults(faults, answer.text)
    return answer
  }
  const open = async (method: string, path: string, asked: Asked = {}): Promise<IncomingMessage> => {
    const response = await plain(method, path, asked)
    const header = headerOf(response)
    const head = { status: response.statusCode ?? 0, type: header('content-type') ?? '' }
    refuseFaults([...unkeptFaults(header), ...contract.judgeHead(method, pathOf(path), head)], '')
    return response
  }
  return {
    url,
    port: Number(new URL(url).port),
    token,
    contract,
    state,
    data,
    directory,
    server,
    call,
    open,
    async makeToken(scope, project, more = {}) {
      const made = await call('POST', '/tokens', { body: { name: 'test', scopes: [scope], project, ...more } })
      if (made.status !== 201) throw new Error(made.text)
      return String(made.at('token'))
    },
    glovebox: (argv) => run(argv, { cwd: directory, env }),
    log: () => log,
    async stop() {
      server.child.kill('SIGTERM')
      const finished = await server.finished
      if (options.place === undefined) rmSync(place, { recursive: true, force: true })
      return finished
    },
  }
}

function refuseFaults(faults: readonly string[], text: string): void {
  if (faults.length > 0) throw new Error(`against the document: ${faults.join('; ')}\n${text.slice(0, 500)}`)
}

/** What the server prints once it listens. */
function firstLine(server: Started): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    let text = ''
    const take = (chunk: Buffer): void => {
      text += chunk.toString()
      if (!text.includes('\n')) return
      server.child.stdout?.off('data', take)
      const told = JSON.parse(text) as Readonly<Record<string, unknown>>
      // Where it cannot start it says why, and ends.
      if ('url' in told) resolve(told)
    }
    server.child.stdout?.on('data', take)
    void server.finished.then(({ code, stderr }) => reject(new Error(`the server ended with ${code}: ${stderr}`)))
  })
}

function send(url: string, method: string, path: string, asked: Asked, first: string): Promise<IncomingMessage> {
  const token = asked.token === undefined ? first : asked.token
  const body = asked.raw ?? (asked.body === undefined ? undefined : JSON.stringify(asked.body))
  const headers = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(body === undefined || asked.headers?.['transfer-encoding'] !== undefined
      ? {}
      : { 'content-length': String(Buffer.byteLength(body)) }),
    ...asked.headers,
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, agent: false }, resolve)
    sent.on('error', reject)
    // Only those ask for it who are to be refused.
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error(`${method} ${path} was upgraded`))
    })
    sent.end(body)
  })
}

async function gathered(response: IncomingMessage): Promise<Answered> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString()
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    bytes,
    at(path) {
      let value: unknown = JSON.parse(text)
      for (const name of path.split('.'))
        value =
          typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
      return value
    },
  }
}

export const codeOf = (answer: Answered): unknown => answer.at('error.code')
