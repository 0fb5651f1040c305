// The operator's program of the attack suite: it uses the built package through its public door, and is told what to do
// by JSON lines on standard input. Copied beside the package and started there as root or as an ordinary user.
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Sandbox, isGloveboxError } from './dist/index.js'

const sandboxes = new Map()
const shells = new Map()
const closing = []
let leaks
let pool

const told = (error) =>
  isGloveboxError(error)
    ? { code: error.code, message: error.message, hint: error.hint, detail: error.operatorDetail, facts: error.facts }
    : { code: 'UNEXPECTED', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }

/** Opens a file as a careless native library would: without close-on-exec. */
async function leak(path) {
  leaks ??= (await import('koffi')).default.load(null).func('int open(const char *path, int flags)')
  return leaks(path, 0)
}

const operations = {
  async create({ options }) {
    const sandbox = await Sandbox.create(options)
    sandboxes.set(sandbox.id, sandbox)
    return { id: sandbox.id, description: sandbox.describe() }
  },
  async run({ sandbox, command, options = {} }) {
    const {
      stdoutBytes: _out,
      stderrBytes: _err,
      ...result
    } = await sandboxes.get(sandbox).commands.run(command, options)
    return result
  },
  async execute({ sandbox, action, input }) {
    try {
      return { ok: true, value: await sandboxes.get(sandbox).execute(action, input) }
    } catch (error) {
      return { ok: false, ...told(error) }
    }
  },
  async provision({ sandbox, resources }) {
    await sandboxes.get(sandbox).provision(resources)
    return sandboxes.get(sandbox).describe()
  },
  async openShell({ sandbox }) {
    const shell = await sandboxes.get(sandbox).shells.open()
    shells.set(shell.id, shell)
    return shell.id
  },
  async shellExec({ shell, command }) {
    const { stdout, stderr, exitCode } = await shells.get(shell).exec(command)
    return { stdout, stderr, exitCode }
  },
  /** Types a line, and tells what was on the terminal until its program ended. */
  async type({ sandbox, line }) {
    const terminal = await sandboxes.get(sandbox).shells.open({ pty: { cols: 200, rows: 50 } })
    let text = ''
    for await (const { bytes } of terminal.read()) {
      // As a person would: when the shell has shown its prompt.
      if (text === '') await terminal.write(`${line}; exit\n`)
      text += Buffer.from(bytes).toString('latin1')
    }
    return text
  },
  /** Runs a command on a terminal, and tells what came and how much the process has grown when the screen was asked for. */
  async drawn({ sandbox, command }) {
    const before = process.memoryUsage().rss
    const terminal = await sandboxes.get(sandbox).shells.open({ pty: true, argv: ['/bin/sh', '-c', command] })
    let raw = ''
    for await (const { bytes } of terminal.read()) raw = (raw + Buffer.from(bytes).toString('latin1')).slice(-200)
    await terminal.screen()
    const grownMiB = (process.memoryUsage().rss - before) / 1024 / 1024
    const { exitCode } = await terminal.ended
    await terminal.close()
    return { exitCode, raw, grownMiB }
  },
  async kill({ sandbox }) {
    await sandboxes.get(sandbox)?.kill()
  },
  leak: ({ path }) => leak(path),
  /** As a server does it. */
  async pool({ backend, docker, layers = [], settings }) {
    const [{ openRealPool }, { openLeases }, { openServedBackends }, { stateHome }] = await Promise.all([
      import('./dist/runtime/pool/open.js'),
      import('./dist/runtime/pool/leases.js'),
      import('./dist/runtime/server/backends.js'),
      import('./dist/runtime/state.js'),
    ])
    const state = stateHome()
    const backends = openServedBackends([backend], { docker })
    const leases = await openLeases({ state })
    const common = { state, backends, leases, layers, env: {}, operatorEnv: {}, lifeMs: 600_000 }
    pool = openRealPool({ ...common, settings })
    closing.push(
      () => pool.pool.shutdown(),
      () => backends.close(),
    )
    await pool.members.spares.filled()
  },
  async acquire({ key, request }) {
    const { id, handle } = await pool.pool.acquire({ user: 'tenants', thread: key }, { request })
    sandboxes.set(id, handle.sandbox)
    return {
      id,
      description: handle.sandbox.describe(),
      directory: handle.directory,
      // By where it lies: one that could not be narrowed is ended, and counts as used all the same.
      wasSpare: dirname(realpathSync(handle.directory)).endsWith('/spares'),
    }
  },
  release: ({ id }) => pool.pool.release(id),
  destroy: ({ id }) => pool.pool.destroy(id),
  spares: async () => {
    await pool.members.spares.filled()
    return pool.members.spares.ahead.ready
  },
}

// Since Node 24 readline also ends a line at U+2028 and U+2029, which JSON leaves as they are.
const escaped = (mark) => `\\u${mark.charCodeAt(0).toString(16)}`
const say = (message) => process.stdout.write(`${JSON.stringify(message).replace(/[\u2028\u2029]/g, escaped)}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const { serial, operation, ...request } = JSON.parse(line)
  Promise.resolve()
    .then(() => operations[operation](request))
    .then(
      (value) => say({ serial, value }),
      (error) => say({ serial, error: told(error) }),
    )
}
for (const close of closing) await close()
await Promise.allSettled([...sandboxes.values()].map((sandbox) => sandbox.kill()))
process.exit(0)
