// `glovebox serve`: starts the server, says once where it is and how to come in, and ends it in good order.
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { didYouMean } from '../../errors/suggest.ts'
import { openServer, type OpenedServer } from '../../runtime/server/open.ts'
import { probeBackend, type BackendState } from '../../runtime/server/backends.ts'
import { defaultSandboxLimits, type SandboxLimits } from '../../runtime/server/sandboxes.ts'
import { defaultLimits, type Limits } from '../../server/http/limits.ts'
import { createLog, type Log, type LogLevel } from '../../server/http/logs.ts'
import type { Place } from '../../server/http/listen.ts'
import { serve, type RunningServer } from '../../server/http/serve.ts'
import { jsonLine, printable, table } from '../output.ts'
import type { Doing } from '../program.ts'
import type { Sink } from '../sink.ts'
import { checkSocketFile } from '../socket-file.ts'
import { packageVersion } from '../version.ts'

export interface ServeFlags {
  readonly host: string
  readonly port: number
  readonly socket?: string
  readonly data?: string
  readonly config?: string
  readonly backend?: readonly string[]
  readonly allowHost?: readonly string[]
  readonly allowOrigin?: readonly string[]
  readonly grace: number
  readonly limit?: Readonly<Record<string, number>>
  readonly tokenFile?: string
  readonly logLevel: LogLevel
  readonly json?: boolean
  readonly debug?: boolean
}

export async function serveCommand(flags: ServeFlags, { face, directory }: Doing): Promise<number> {
  const signals = watchStops()
  const lines = gatheredLines(face.err)
  try {
    const log = createLog({ level: flags.logLevel, write: lines.write })
    const limits = chooseLimits(flags.limit ?? {})
    const place = placeOf(flags, directory)
    const opened = await openServer({
      isProcessOurs: true,
      sandboxLimits: limits.sandboxes,
      directory,
      data: flags.data === undefined ? undefined : resolve(directory, flags.data),
      settingsFile: flags.config === undefined ? undefined : resolve(directory, flags.config),
      backends: flags.backend,
      onFault: (error, about) => log.error({ about, ...toldOf(error) }, 'something went wrong behind a request'),
    })
    const started = await startWhole(opened, flags, { log, directory, place, limits: limits.http })
    // Whoever stops it need not wait for what is told of it.
    await Promise.race([tell(started, flags, face.out).then(() => signals.first), signals.first])
    signals.onNext(() => void started.server.stop())
    await started.server.stop()
    return 0
  } finally {
    signals.stop()
    await lines.flush()
  }
}

/** The log is the operator's. */
const toldOf = (error: unknown): Readonly<Record<string, unknown>> => ({
  error: String(error),
  ...(isGloveboxError(error) && error.operatorDetail !== undefined ? { detail: error.operatorDetail } : {}),
})

const placeOf = ({ host, port, socket }: ServeFlags, directory: string): Place =>
  socket === undefined ? { host, port } : { socket: checkSocketFile(resolve(directory, socket)) }

/** A limit that nobody knows would not be kept, so it is refused. */
function chooseLimits(given: Readonly<Record<string, number>>): {
  readonly http: Partial<Limits>
  readonly sandboxes: Partial<SandboxLimits>
} {
  const known = [...Object.keys(defaultLimits), ...Object.keys(defaultSandboxLimits)]
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new GloveboxError('INVALID_INPUT', `Cannot move the limit ${unknown}: there is none of that name`, {
      hint: didYouMean(unknown, known),
    })
  const of = (names: object) => Object.fromEntries(Object.entries(given).filter(([name]) => name in names))
  return { http: of(defaultLimits), sandboxes: of(defaultSandboxLimits) }
}

/** What an earlier server left. */
async function welcomeBack({ store, runs }: OpenedServer, log: Log): Promise<void> {
  if (store.unindexedSince !== undefined)
    log.warn(
      { kept: store.unindexedSince },
      'the database was damaged and is kept aside; execs and runs were indexed anew, and tokens are void',
    )
  const ended = await runs.recover()
  if (ended > 0) log.warn({ runs: ended }, 'runs of an earlier server were ended')
}

interface Starting {
  readonly log: Log
  readonly directory: string
  readonly place: Place
  readonly limits: Partial<Limits>
}

/** What it is made of, as it is shown. */
interface Parts {
  readonly store: string
  readonly backends: readonly Awaited<ReturnType<typeof probeBackend>>[]
}

interface Started {
  readonly opened: OpenedServer
  readonly server: RunningServer
  readonly parts: Parts
  /** Undefined where there was a token already. */
  readonly firstToken: string | undefined
  readonly tokenFile: string | undefined
}

/** A token that was made and reached nobody would lock everybody out, so it is made last, and its file first. */
async function startWhole(
  opened: OpenedServer,
  flags: ServeFlags,
  { log, directory, place, limits }: Starting,
): Promise<Started> {
  const tokenFile = flags.tokenFile === undefined ? undefined : resolve(directory, flags.tokenFile)
  let file: number | undefined
  let server: RunningServer | undefined
  try {
    const isFirst = (await opened.desk.count()) === 0
    if (isFirst && tokenFile !== undefined) file = makeTokenFile(tokenFile)
    await welcomeBack(opened, log)
    server = await serve({
      opened,
      place,
      log,
      version: packageVersion(),
      graceMs: flags.grace,
      limits,
      ...(flags.allowHost === undefined ? {} : { allowHosts: flags.allowHost }),
      ...(flags.allowOrigin === undefined ? {} : { allowOrigins: flags.allowOrigin }),
    })
    const parts = await partsOf(opened)
    // Another server of the same database may have been first since.
    const firstToken = isFirst ? (await opened.desk.issueFirst())?.secret : undefined
    if (file !== undefined && firstToken !== undefined) keepToken(file, firstToken)
    else if (file !== undefined && tokenFile !== undefined) discardTokenFile(file, tokenFile)
    return { opened, server, parts, firstToken, tokenFile }
  } catch (error) {
    if (file !== undefined && tokenFile !== undefined) rmSync(tokenFile, { force: true })
    if (server === undefined) await opened.close()
    else await server.stop()
    throw error
  }
}

async function partsOf({ store, backends }: OpenedServer): Promise<Parts> {
  const { kind, version } = await store.health()
  return {
    store: `${kind} ${version}`,
    backends: await Promise.all(backends.names.map((name) => probeBackend(backends, name))),
  }
}

/** Asks nothing more: what failed here would keep the token from whoever is to have it. */
async function tell({ opened, server, parts, ...token }: Started, flags: ServeFlags, out: Sink): Promise<void> {
  const { firstToken, tokenFile } = token
  const shown = tokenFile === undefined ? firstToken : undefined
  const started = {
    url: server.url,
    docs: `${server.url}/docs`,
    store: parts.store,
    data: opened.data,
    backends: parts.backends,
  }
  if (flags.json === true) {
    const kept = tokenFile === undefined ? {} : firstToken === undefined ? notKept : { token_file: tokenFile }
    await out.write(jsonLine({ ...started, ...(shown === undefined ? {} : { token: shown }), ...kept }))
    return
  }
  const rows = [
    ['server', started.url],
    ['reference', started.docs],
    ['store', started.store],
    ['data', started.data],
    ...parts.backends.map((each) => ['backend', describe(each)]),
    ...(shown === undefined ? [] : [['token', `${shown}  (shown this once)`]]),
    ...(tokenFile === undefined ? [] : [['token', firstToken === undefined ? notKept.hint : `in ${tokenFile}`]]),
  ]
  await out.write(`${table(rows.map((row) => row.map(printable))).join('\n')}\n`)
}

/** Whoever waits for the file is told that it does not come. */
const notKept = {
  token_file: null,
  hint: 'no file was written, since there is a token already; `glovebox token create <name> --scope admin` makes another',
} as const

const describe = ({ name, state, detail }: BackendState): string =>
  `${name}: ${state}${detail === undefined ? '' : ` (${detail})`}`

// SECURITY: a file that is there already may be read by others, or lead elsewhere; it is never written into.
// test/e2e/server-start: "the first token is written to a new file of its owner's alone"
function makeTokenFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    throw new GloveboxError('NOT_PERMITTED', 'Cannot keep the first token: its file cannot be made', {
      hint: 'Name a file that does not exist yet.',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

function keepToken(file: number, secret: string): void {
  writeSync(file, `${secret}\n`)
  fsyncSync(file)
  closeSync(file)
}

function discardTokenFile(file: number, path: string): void {
  closeSync(file)
  rmSync(path, { force: true })
}

const maxWaitingCharacters = 1024 * 1024
/** Lines of one moment are written at once: each write is a turn of a thread that others wait for. */
const gatherMs = 20

interface Lines {
  readonly write: (line: string) => void
  readonly flush: () => Promise<void>
}

/** A reader of the log that does not read must not fill our memory: what is too much is dropped. */
function gatheredLines(sink: Sink): Lines {
  let gathered = ''
  let writing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    await writing
    const text = gathered
    gathered = ''
    writing = sink.write(text)
    await writing
    writing = undefined
  }
  return {
    write(line) {
      if (gathered.length > maxWaitingCharacters) return
      gathered += line
      timer ??= setTimeout(() => void flush(), gatherMs).unref()
    },
    flush,
  }
}

interface Stops {
  readonly first: Promise<void>
  onNext(listener: () => void): void
  stop(): void
}

function watchStops(): Stops {
  const names = ['SIGTERM', 'SIGINT'] as const
  let next: (() => void) | undefined
  let resolveFirst = (): void => {}
  const first = new Promise<void>((done) => (resolveFirst = done))
  const onSignal = (): void => {
    next?.()
    resolveFirst()
  }
  for (const name of names) process.on(name, onSignal)
  return {
    first,
    onNext: (listener) => (next = listener),
    stop: () => {
      for (const name of names) process.removeListener(name, onSignal)
    },
  }
}
