// A command's result for an agent: what it printed, told apart, and how it ended.
import { cutMiddle } from './cut.ts'
import { plainOutput } from './printable.ts'
import type { ExecShown } from './results.ts'

const maxOutputCharacters = 20_000

/** Both streams as one text. Headings only where there are two to tell apart, or only the second. */
export function joinedOutput(result: ExecShown): string {
  const stdout = plainOutput(result.stdout)
  const stderr = plainOutput(result.stderr)
  if (stderr === '') return stdout
  return stdout === '' ? `stderr:\n${stderr}` : `stdout:\n${withLineEnd(stdout)}stderr:\n${stderr}`
}

/** SECURITY: last in the text, and never cut away. test/attacks/actions: "a program cannot print how it ended" */
export function endingLines(result: ExecShown): string {
  const lines = [
    ...lostOutput('stdout', result.stdoutTruncated, result.stdoutTotalBytes),
    ...lostOutput('stderr', result.stderrTruncated, result.stderrTotalBytes),
    ...result.denials
      .slice(0, 5)
      .map((denial) => plainOutput(`Denied: ${denial.subject}: ${denial.reason}`).slice(0, 500)),
    endedLine(result),
  ]
  return lines.join('\n')
}

export const outputText = (body: string, ending: string): string =>
  body === '' ? `(no output)\n${ending}` : `${withLineEnd(body)}${ending}`

/** `kept`: where the agent can read the whole, or why it cannot. */
export function cutOutput(body: string, ending: string, kept: string): string {
  const marker = (cut: number): string => `\n… ${cut} of ${body.length} characters cut. ${kept} …\n`
  return outputText(cutMiddle(body, maxOutputCharacters - ending.length - 1, marker).text, ending)
}

export const fits = (body: string, ending: string): boolean => outputText(body, ending).length <= maxOutputCharacters

function endedLine({ ended, exitCode }: ExecShown): string {
  switch (ended.by) {
    case 'exit':
      return `Exit code: ${exitCode}`
    case 'timeout':
      return `Exit code: ${exitCode} (timed out after ${String(ended.afterMs)} ms; everything it started was ended)`
    case 'cancel':
      return `Exit code: ${exitCode} (cancelled)`
    case 'oom':
      return `Exit code: ${exitCode} (out of memory)`
    case 'signal':
      return `Exit code: ${exitCode} (ended by ${String(ended.signal)})`
    default:
      return `Exit code: ${exitCode} (nobody can know how the command ended)`
  }
}

const lostOutput = (name: string, truncated: boolean, totalBytes: number): readonly string[] =>
  truncated ? [`${name} had ${totalBytes} bytes; only the first part was kept.`] : []

const withLineEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)
