// The operator's program of the attack suite: it uses the built package through its public door, and is told what to do
// by JSON lines on standard input. Copied beside the package and started there as root or as an ordinary user.
import { createInterface } from 'node:readline'
import { Sandbox, isGloveboxError } from './dist/index.js'

const sandboxes = new Map()
let leaks

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
  async kill({ sandbox }) {
    await sandboxes.get(sandbox)?.kill()
  },
  leak: ({ path }) => leak(path),
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
await Promise.allSettled([...sandboxes.values()].map((sandbox) => sandbox.kill()))
process.exit(0)
