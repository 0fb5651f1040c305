// The positive control: the same attack where nothing of ours defends. It runs as an id that owns nothing, in a throw-away
// bwrap that shows the host's root and shares its network, with no filter and no mask; so that it cannot harm the machine
// although the attack succeeds. What it may damage is made for it: a ground of its own.
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Owns nothing but its grounds. */
export const controlId = 20_001

const asRoot = process.getuid?.() === 0

export interface ControlOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly timeoutMs?: number
  /** Left open in the control at these numbers from 3 on. */
  readonly inheritDescriptors?: readonly number[]
}

export interface ControlResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const words = [
  '--die-with-parent',
  '--unshare-pid',
  '--bind',
  '/',
  '/',
  '--dev-bind',
  '/dev',
  '/dev',
  '--proc',
  '/proc',
]

/** A string is run by bash, an array as it is. */
export function undefended(command: string | readonly string[], options: ControlOptions = {}): Promise<ControlResult> {
  const argv = typeof command === 'string' ? ['/bin/bash', '-c', command] : command
  return new Promise((resolve, reject) => {
    const child = spawn('/usr/bin/bwrap', [...words, '--chdir', options.cwd ?? '/', '--', ...argv], {
      cwd: '/',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...options.env },
      stdio: ['pipe', 'pipe', 'pipe', ...(options.inheritDescriptors ?? [])],
      timeout: options.timeoutMs ?? 20_000,
      killSignal: 'SIGKILL',
      ...(asRoot ? { uid: controlId, gid: controlId } : {}),
    })
    let [stdout, stderr] = ['', '']
    child.stdin?.on('error', () => {}).end(options.stdin ?? '')
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ exitCode: code ?? 137, stdout, stderr }))
  })
}

export interface ControlGround {
  readonly directory: string
  /** Hands a file that the test made to the control's id. */
  give(path: string): void
  close(): void
}

/** A directory that the control may damage. */
export function openControlGround(): ControlGround {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-control-'))
  const give = (path: string): void => {
    if (asRoot) chownSync(path, controlId, controlId)
  }
  chmodSync(directory, 0o755)
  give(directory)
  return { directory, give, close: () => rmSync(directory, { recursive: true, force: true }) }
}
