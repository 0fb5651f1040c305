// A host on a terminal: what a person has who runs `glovebox exec` by hand. script(1) makes the terminal.
import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from './command-line.ts'
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
  const { words, as } = commandLine(host, ['exec', '--mount', `/workspace=${workspace}`, '--', '/workspace/probe'])
  const [script, ...rest] = onTerminal(words.join(' '))
  const child = spawn(script, rest, {
    cwd: host.makeDirectory('terminal-operator'),
    env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', HOME: workspace, GLOVEBOX_STATE_DIR: host.stateDirectory },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...as,
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
