// What a user does with a sandbox, told so that it can be done with any: each answers with what came of it, free of what must
// differ between two sandboxes (ids, times).
import type { ExecResult } from '../../src/contract/exec.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'

type Scenario = (sandbox: Sandbox) => Promise<unknown>

/** A refusal as a value. */
export async function refusalOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return { came: await work() }
  } catch (error) {
    const { name, code, message, hint, facts } = error as Record<string, unknown>
    return { name, code, message, hint, facts }
  }
}

const told = ({ ended, stdoutBytes, stderrBytes, ...rest }: ExecResult): unknown => ({
  ...rest,
  execId: undefined,
  durationMs: undefined,
  ended: 'afterMs' in ended ? { by: ended.by } : ended,
  stdoutBytes: [...stdoutBytes.subarray(0, 64)],
  stderrBytes: [...stderrBytes.subarray(0, 64)],
})

const run =
  (...asked: Parameters<Sandbox['commands']['run']>): Scenario =>
  async (sandbox) =>
    told(await sandbox.commands.run(...asked))

const refused =
  (work: (sandbox: Sandbox) => Promise<unknown>): Scenario =>
  (sandbox) =>
    refusalOf(() => work(sandbox))

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

/** Same bytes, however they were cut into chunks. */
async function heard(sandbox: Sandbox, command: string, keepBytes?: number): Promise<unknown> {
  const out: number[] = []
  const err: number[] = []
  const result = await sandbox.commands.run(command, {
    onStdout: (chunk) => void out.push(...chunk),
    onStderr: async (chunk) => void err.push(...chunk),
    ...(keepBytes === undefined ? {} : { keepBytes }),
  })
  return { result: told(result), out, err }
}

async function cancelled(sandbox: Sandbox): Promise<unknown> {
  const stop = new AbortController()
  const result = await sandbox.commands.run('echo begun; sleep 300 & sleep 300', {
    signal: stop.signal,
    onStdout: () => stop.abort(),
  })
  const left = await sandbox.commands.run('ps -e -o args= 2>/dev/null | grep -c "[s]leep 300" || true')
  return { result: told(result), left: left.stdout }
}

const failing = async (sandbox: Sandbox): Promise<unknown> =>
  sandbox.commands.run('echo one; sleep 300', {
    onStdout() {
      throw new RangeError('the reader failed')
    },
  })

export const commandScenarios: Readonly<Record<string, Scenario>> = {
  'a command that ends well': run('echo out; echo err >&2'),
  'a command that fails is a result': run('echo no >&2; exit 7'),
  'a list is run as it is': run(['printf', '%s|', 'a b', '$HOME', '*']),
  'a program that is not there': run(['no-such-program']),
  'a file that cannot be run': run('./README'),
  'a signal': run('kill -TERM $$'),
  'a timeout': run('echo before; sleep 30', { timeoutMs: 3000 }),
  'a timeout above the ceiling': refused((sandbox) => sandbox.commands.run('true', { timeoutMs: 10_000_000 })),
  // Who refuses it differs, and the words with it.
  'a timeout that is no time': async (sandbox) => {
    const refusal = await refusalOf(() => sandbox.commands.run('true', { timeoutMs: -1 }))
    return (refusal as { readonly code: string }).code
  },
  'output that is no text': run("printf '\\377\\376\\000\\303\\050ab'"),
  'text beyond the first plane, and a byte order mark': run("printf '\\357\\273\\277\\360\\237\\246\\212 \\303\\251'"),
  'output beyond the limit is cut and counted': run('head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2'),
  'a cut in the middle of a character': run("printf a; yes é | tr -d '\\n' | head -c 2000000"),
  'an environment of its own': run('echo "$GREETING $HOME"', { env: { GREETING: 'hello there' } }),
  'a name that is no name of a variable': refused((s) => s.commands.run('true', { env: { 'A=B': 'x' } })),
  'a value with a NUL': refused((s) => s.commands.run('true', { env: { A: 'x\0y' } })),
  'a working directory': run('pwd', { cwd: '/tmp' }),
  'a working directory that is not there': refused((s) => s.commands.run('true', { cwd: 'nowhere/at/all' })),
  'a working directory outside': refused((s) => s.commands.run('true', { cwd: '/etc' })),
  'input as text': run('cat', { stdin: 'héllo\n' }),
  'input as bytes': run('od -An -tx1', { stdin: new Uint8Array([0, 255, 10, 195, 40]) }),
  'input as a stream': (sandbox) => run('wc -c', { stdin: pieces('one', 'two', 'three') })(sandbox),
  'no input is an end of file': run('cat; echo done'),
  'input that nobody reads': run('true', { stdin: 'x'.repeat(100_000) }),
  'half of a surrogate pair as input': run('od -An -tx1', { stdin: 'a\ud800b' }),
  'output as it comes': (sandbox) => heard(sandbox, 'for i in 1 2 3; do echo $i; echo e$i >&2; sleep 0.05; done'),
  'output as it comes, of which little is kept': (sandbox) => heard(sandbox, 'seq 2000', 10),
  'a reader that fails ends the command': refused(failing),
  'a command that is cancelled, tree and all': cancelled,
  'a command that was cancelled before it began': refused((s) =>
    s.commands.run('true', { signal: AbortSignal.abort() }),
  ),
  'a network that is not there': run('exec 3<>/dev/tcp/127.0.0.1/9 || echo none', {}),
  'an empty command': refused((s) => s.commands.run([''])),
  'an argument with a NUL': refused((s) => s.commands.run(['echo', 'a\0b'])),
  'a name that begins with a dash': refused((s) => s.commands.run(['-x'])),
  'an argument that the kernel does not take': refused((s) => s.commands.run(['echo', 'x'.repeat(131_072)])),
}

const hello = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'

export const fileScenarios: Readonly<Record<string, Scenario>> = {
  async 'text that is written is read'({ files }) {
    await files.write('notes/a.txt', 'hello')
    return [await files.read('notes/a.txt'), await files.read('/workspace/notes/a.txt')]
  },
  async 'bytes that are written are read'({ files }) {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256)
    await files.write('bytes.bin', bytes)
    const back = await files.readBytes('bytes.bin')
    return {
      isBytes: back instanceof Uint8Array,
      same: back.length === bytes.length && back.every((b, at) => b === bytes[at]),
    }
  },
  async 'four megabytes'({ files }) {
    await files.write('large.bin', new Uint8Array(4 * 1024 * 1024).fill(65))
    return [(await files.readBytes('large.bin')).length, (await files.stat('large.bin')).sizeBytes]
  },
  async 'what is appended follows'({ files }) {
    await files.write('log', 'one\n', { append: true })
    await files.write('log', new TextEncoder().encode('two\n'), { append: true })
    return files.read('log')
  },
  async 'lines of a file'({ files }) {
    await files.write('lines', 'a\nb\nc\nd\n')
    return files.read('lines', { startLine: 2, endLine: 3 })
  },
  async 'a write that expects another content'({ files }) {
    await files.write('guarded', 'hello', { expectedSha256: null })
    await files.write('guarded', 'hello', { expectedSha256: hello })
    return [
      await refusalOf(() => files.write('guarded', 'x', { expectedSha256: null })),
      await refusalOf(() => files.write('guarded', 'x', { expectedSha256: 'a'.repeat(64) })),
      await files.read('guarded'),
    ]
  },
  async 'a directory and what is in it'({ files, commands }) {
    await files.mkdir('dir/sub')
    await files.write('dir/b', 'bb')
    await commands.run('ln -s b dir/link')
    const { entries, truncated } = await files.list('dir')
    const { modifiedMs: _, ...stat } = await files.stat('dir/link')
    return { entries, truncated, stat }
  },
  async 'what is there and what is not'({ files }) {
    await files.write('there', '')
    return [await files.exists('there'), await files.exists('not-there'), await files.exists('/workspace')]
  },
  async renaming({ files }) {
    await files.write('old', 'x')
    await files.rename('old', 'new')
    return [await files.exists('old'), await files.read('new')]
  },
  'removing needs a policy that allows it': async ({ files }) => {
    await files.write('kept', 'x')
    return [await refusalOf(() => files.remove('kept')), await files.exists('kept')]
  },
  async 'glob and grep'({ files }) {
    await files.write('src/a.ts', 'const a = 1\n')
    await files.write('src/deep/b.ts', 'const b = 2\nlet c = a\n')
    return [
      await files.glob('**/*.ts'),
      await files.glob('*', { path: 'src', includeDirs: true }),
      await files.grep('const \\w', { path: 'src' }),
      await files.grep('A = 1', { caseSensitive: false, literal: true, glob: '*.ts' }),
      await refusalOf(() => files.grep('(')),
    ]
  },
  refusals: async ({ files, commands, execute }) => {
    await commands.run('ln -s /etc/passwd out; mkfifo pipe')
    await files.write('latin', new Uint8Array([0xe9]))
    return Promise.all(
      [
        () => files.read('nowhere'),
        () => files.read('/etc/passwd'),
        () => files.read('out'),
        () => files.read('pipe'),
        () => files.read('latin'),
        () => files.read('/workspace'),
        () => files.read(''),
        () => files.read('a\0b'),
        () => files.write('/proc/x', 'y'),
        () => files.write('.git/hooks/pre-commit', 'y'),
        () => files.list('latin'),
        () => files.stat('nowhere'),
        () => files.mkdir('/usr/x'),
        () => files.rename('nowhere', 'somewhere'),
        () => execute('no_such_action', {}),
        () => execute('read_text', { path: 'latin', colour: 'red' }),
        () => execute('stat', {}),
      ].map(refusalOf),
    )
  },
  async 'actions by name'({ execute }) {
    await execute('write_text', { path: 'by-name', text: 'a\nb\n' })
    return [
      await execute('replace_text', { path: 'by-name', oldText: 'b', newText: 'c' }).catch((error: unknown) =>
        refusalOf(() => Promise.reject(error)),
      ),
      await execute('read_text', { path: 'by-name' }),
      await execute('find_entries', { path: '.' }).catch((error: unknown) => refusalOf(() => Promise.reject(error))),
    ]
  },
}

export { told }
