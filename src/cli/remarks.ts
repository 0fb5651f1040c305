// What the operator should know about an exec beyond its own output: how it ended, what was cut, what was refused.
import type { Denial } from '../contract/denial.ts'
import type { Ended, ExecResult } from '../contract/exec.ts'
import { printable } from './output.ts'
import { formatBytes, formatMs } from './units.ts'

/** How much of each stream was printed, where it was cut. */
export interface Shown {
  /** `undefined`: its reader went away, and misses nothing. */
  readonly stdout: number | undefined
  readonly stderr: number
}

export function remarks(result: ExecResult, argv: readonly string[], shown: Shown = keptIn(result)): readonly string[] {
  return [
    ...cut('stdout', result.stdoutTruncated, { shown: shown.stdout, total: result.stdoutTotalBytes }),
    ...cut('stderr', result.stderrTruncated, { shown: shown.stderr, total: result.stderrTotalBytes }),
    ...result.denials.map(denialLine),
    ...endLines(result.ended),
    ...shellHint(result, argv),
  ]
}

const keptIn = ({ stdoutBytes, stderrBytes }: ExecResult): Shown => ({
  stdout: stdoutBytes.length,
  stderr: stderrBytes.length,
})

function cut(
  stream: string,
  truncated: boolean,
  size: { readonly shown: number | undefined; readonly total: number },
): readonly string[] {
  if (!truncated || size.shown === undefined) return []
  const limit = stream === 'stdout' ? '--max-stdout' : 'maxStderrBytes of a policy file'
  return [
    `glovebox: ${stream} was cut: ${formatBytes(size.shown)} of ${formatBytes(size.total)} are shown.`,
    `hint: Raise the limit with ${limit}, or write to a file in the workspace.`,
  ]
}

function denialLine(denial: Denial): string {
  const { kind, subject, rule, reason } = denial
  return printable(`glovebox: denied ${kind} ${subject} (${rule}): ${reason}`)
}

function endLines(ended: Ended): readonly string[] {
  switch (ended.by) {
    case 'timeout':
      return [
        `glovebox: The command was ended after ${formatMs(ended.afterMs)}, with everything that it had started.`,
        'hint: Give it longer with --timeout.',
      ]
    case 'oom':
      return ['glovebox: The command ran out of memory.', 'hint: Give it more with --memory.']
    case 'lost':
      return [printable(`glovebox: Nobody can know how the command ended: ${ended.reason}`)]
    case 'exit':
    case 'signal':
    case 'cancel':
      return []
  }
}

const notFound = 127

/** A whole command line in one word is the commonest slip of those who expect a shell. */
function shellHint(result: ExecResult, argv: readonly string[]): readonly string[] {
  const [program = ''] = argv
  if (result.exitCode !== notFound || argv.length !== 1 || !/[\s|&;<>$]/.test(program)) return []
  return ["hint: No shell reads the command. For a shell, write: glovebox exec -- sh -c '…'"]
}
