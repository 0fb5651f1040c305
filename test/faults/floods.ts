// Talkative guests, each in a host process of its own, so that what they cost can be told.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { resultOf } from './finished.ts'
import type { FaultGround } from './ground.ts'

/** What is cut is read into one buffer; the rest is what Node makes anew for each read, and what is kept. */
export const allowedGrowthMiB = 40
/** What is kept is six times as long as JSON, and there several times over while it is printed. */
export const allowedAsJsonMiB = 64
/** Each chunk of what is let through is a buffer of its own, and a collector lets some 40 to 85 MiB of them lie, however long the output is. */
export const allowedLetThroughMiB = 96

/** For what the command line is told to let through, or to cut. */
export const allowedFor = (flags: readonly string[]): number =>
  flags.includes('--max-stdout') ? allowedLetThroughMiB : flags.includes('--json') ? allowedAsJsonMiB : allowedGrowthMiB

export interface Flooded {
  readonly ended: { readonly by: string; readonly code?: number }
  readonly exitCode: number
  readonly stdoutKept: number
  readonly stderrKept: number
  readonly stdoutTotal: number
  readonly stderrTotal: number
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  readonly stdoutSha256: string
  readonly textSha256: string
  readonly grewMiB: number
  readonly tookMs: number
}

export interface SlowlyRead extends Flooded {
  readonly seen: number
  readonly seenSha256: string
  /** Blocks that the guest had written while nobody read, and some time later. */
  readonly pausedAt: { readonly written: number; readonly later: number }
}

export const flood = <Result = Flooded>(
  ground: FaultGround,
  scenario: string,
  place: { workspace: string; bytes?: number },
): Promise<Result> =>
  resultOf<Result>(ground.startHost('output.mjs', [scenario, place.workspace, String(place.bytes ?? 0)]))

export interface CommandLineFlood {
  readonly code: number | null
  readonly stdout: string
  readonly peakMiB: number
}

/** Through the command line; `--json` keeps what is printed, else it goes nowhere. */
export function floodCommandLine(
  ground: FaultGround,
  options: { readonly workspace: string; readonly bytes: number; readonly flags: readonly string[] },
): Promise<CommandLineFlood> {
  const keeps = options.flags.includes('--json')
  const command = `head -c ${options.bytes} /dev/zero; exit 7`
  const child = ground.startCli(['exec', '--timeout', '300s', ...options.flags, '--', 'sh', '-c', command], {
    cwd: options.workspace,
    stdio: ['ignore', keeps ? 'pipe' : 'ignore', 'ignore'],
    env: { NODE_OPTIONS: `--import=${peakAtExit}` },
  })
  let stdout = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      const told = readFileSync(join(options.workspace, `peak-${child.pid}`), 'utf8')
      resolve({ code, stdout, peakMiB: Number(/VmHWM:\s+(\d+)/.exec(told)?.[1]) / 1024 })
    })
  })
}

/** At its end it leaves what it had at most: whoever looks now and then from outside may be too late for a short one. */
const peakAtExit = `data:text/javascript,${encodeURIComponent(
  `import { readFileSync, writeFileSync } from 'node:fs'
  process.on('exit', () => writeFileSync('peak-' + process.pid, readFileSync('/proc/self/status')))`,
)}`
