// A host on a terminal: what a person has who runs `glovebox exec` by hand. script(1) makes the terminal.
import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { probeFile, undefended, type AttackHost } from './host.ts'

export interface TerminalFound {
  readonly streams: readonly boolean[]
  readonly typed: readonly string[]
  readonly terminal: string
}

const onTerminal = (command: string): readonly [string, ...string[]] => [
  '/usr/bin/script',
  '-qec',
  command,
  '/dev/null',
]
const readFound = (output: string): TerminalFound => JSON.parse(/\{.*\}/.exec(output)?.[0] ?? output) as TerminalFound

/** The probe in a sandbox of the command line, which itself runs on a terminal. */
export async function typedFromInside(host: AttackHost): Promise<TerminalFound> {
  const workspace = host.makeDirectory('terminal')
  const copy = join(workspace, 'probe')
  copyFileSync(await probeFile('type-into-terminal.py'), copy)
  chmodSync(copy, 0o755)
  host.give(copy)
  // What bin/glovebox does, from the copy of the package.
  const program = join(host.directory, 'glovebox.cjs')
  const built = join(host.packageDirectory, 'dist/cli/glovebox.cjs')
  writeFileSync(program, `void require('${built}').main(process.argv.slice(2)).then((code) => process.exit(code))\n`)
  const words = [process.execPath, program, 'exec', '--mount', `/workspace=${workspace}`, '--', '/workspace/probe']
  const [script, ...rest] = onTerminal(words.join(' '))
  const child = spawn(script, rest, {
    cwd: workspace,
    env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', HOME: workspace, GLOVEBOX_STATE_DIR: host.stateDirectory },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(host.uid === process.getuid?.() ? {} : { uid: host.uid, gid: host.uid }),
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await new Promise((resolve) => child.once('close', resolve))
  return readFound(output)
}

export async function typedUndefended(): Promise<TerminalFound> {
  const probe = await probeFile('type-into-terminal.py')
  return readFound((await undefended(onTerminal(probe), { env: { SHELL: '/bin/sh' } })).stdout)
}
