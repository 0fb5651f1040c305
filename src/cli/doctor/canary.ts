// A canary: real commands in a real sandbox, each trying what the boundary must refuse. What they try is harmless where
// nothing refuses it, and each try is first shown to work on the host, so that a refusal is the boundary's doing.
import { connect, createServer, type Server } from 'node:net'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import type { Backend } from '../../contract/backend.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createSandbox } from '../../runtime/create.ts'

/** `open`: what was tried succeeded, so nothing defends. `untried`: the probe could not be made; nothing is claimed. */
export type Outcome = { readonly state: 'held' | 'open' | 'untried'; readonly detail: string }

export interface CanaryReport {
  readonly trueMs: number
  readonly read: Outcome
  readonly write: Outcome
  readonly connect: Outcome
}

interface Bait {
  readonly workspace: string
  readonly secretFile: string
  readonly secret: string
  readonly openDirectory: string
}

export async function runCanary(backend: Backend): Promise<CanaryReport> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-doctor-')))
  try {
    const bait = layBait(root)
    await using sandbox = await createSandbox({
      backend,
      mounts: [{ guestPath: '/workspace', hostPath: bait.workspace, mode: 'rw' }],
      layers: [],
    })
    return {
      trueMs: await timeTrue(sandbox),
      read: await tryRead(sandbox, bait),
      write: await tryWrite(sandbox, bait),
      connect: await tryConnect(sandbox),
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** World-readable and world-writable, so that only the boundary and no permission bit stands in the way. */
function layBait(root: string): Bait {
  const bait = {
    workspace: join(root, 'workspace'),
    secretFile: join(root, 'secret'),
    secret: randomUUID(),
    openDirectory: join(root, 'outside'),
  }
  chmodSync(root, 0o755)
  mkdirSync(bait.workspace)
  mkdirSync(bait.openDirectory)
  chmodSync(bait.openDirectory, 0o777)
  writeFileSync(bait.secretFile, bait.secret, { mode: 0o644 })
  return bait
}

async function timeTrue(sandbox: Sandbox): Promise<number> {
  const start = performance.now()
  const result = await sandbox.commands.run(['true'])
  if (result.ended.by !== 'exit' || result.ended.code !== 0) {
    throw new GloveboxError('BOUNDARY_FAILED', `Cannot run "true": it ended by ${result.ended.by}.`, {
      operatorDetail: result.stderr,
    })
  }
  return performance.now() - start
}

async function tryRead(sandbox: Sandbox, bait: Bait): Promise<Outcome> {
  if (readFileSync(bait.secretFile, 'utf8') !== bait.secret) return untried('the host could not read the bait')
  const result = await sandbox.commands.run(['cat', bait.secretFile])
  if (result.stdout.includes(bait.secret)) return open('a file outside the mounts was read')
  return result.ended.by === 'exit' && result.exitCode === 1
    ? held('a file outside the mounts was not readable')
    : untried(`cat ended with ${result.exitCode}`)
}

async function tryWrite(sandbox: Sandbox, bait: Bait): Promise<Outcome> {
  const target = join(bait.openDirectory, 'written')
  const result = await sandbox.commands.run(['sh', '-c', 'echo x > "$1" && echo wrote; echo tried', 'sh', target])
  if (existsSync(target)) return open('a file outside the mounts was written')
  return result.stdout.includes('tried') ? held('nothing was written outside the mounts') : untried('sh did not run')
}

/** Bash opens the connection itself; nothing that must be installed first is needed. */
async function tryConnect(sandbox: Sandbox): Promise<Outcome> {
  await using listener = await listen()
  if (!(await reaches(listener.port))) return untried('the host could not reach its own listener')
  const before = listener.count()
  const script = `if (exec 3<>/dev/tcp/127.0.0.1/${listener.port}) 2>/dev/null; then echo reached; else echo refused; fi`
  const result = await sandbox.commands.run(['bash', '-c', script])
  if (listener.count() > before || result.stdout.includes('reached')) return open('a listener on the host was reached')
  return result.stdout.includes('refused')
    ? held('a listener on the host was not reachable')
    : untried('there is no bash inside')
}

interface Listener extends AsyncDisposable {
  readonly port: number
  count(): number
}

async function listen(): Promise<Listener> {
  let count = 0
  const server: Server = createServer((socket) => {
    count++
    socket.on('error', () => undefined)
    socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new GloveboxError('INTERNAL', 'Cannot listen: no port was given.')
  return {
    port: address.port,
    count: () => count,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function reaches(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => socket.destroy())
  })
}

const held = (detail: string): Outcome => ({ state: 'held', detail })
const open = (detail: string): Outcome => ({ state: 'open', detail })
const untried = (detail: string): Outcome => ({ state: 'untried', detail })
