// `wslpath` knows under which name the other system sees a file: it is a part of WSL, on Windows reached through `wsl.exe`.
import { spawnSync } from 'node:child_process'

const deadlineMs = 10_000

/** Fixed places: what a directory of the operator's PATH calls wslpath is not asked. */
const programs = {
  linux: ['/usr/bin/wslpath'],
  win32: [String.raw`C:\Windows\System32\wsl.exe`, 'wslpath'],
} as const

export interface WslpathHost {
  readonly platform: string
  /** The program and what comes before its options. For tests. */
  readonly command?: readonly [string, ...string[]]
}

/** The path must be absolute, and so cannot be taken for an option. Undefined: there is no such program, or it refused. */
export function askWslpath(option: '-u' | '-w', path: string, host: WslpathHost = process): string | undefined {
  const command =
    host.command ?? (host.platform === 'linux' || host.platform === 'win32' ? programs[host.platform] : undefined)
  if (command === undefined) return undefined
  const [program, ...words] = command
  const done = spawnSync(program, [...words, '-a', option, path], {
    encoding: 'utf8',
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: deadlineMs,
    windowsHide: true,
  })
  return done.status === 0 && done.stdout !== '' ? done.stdout : undefined
}
