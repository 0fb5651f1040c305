// The executor `command`: one program inside the sandbox is the whole work, be it a script or somebody's agent. Its output
// goes to whoever watches, and to the transcript up to a bound; how it ends decides how the run ends. It knows nothing of
// prompts: the program finds its own in the file that its environment names.
import { StringDecoder } from 'node:string_decoder'
import type { Ended, ExecResult, RunOptions } from '../contract/exec.ts'
import type { Assignment, Executor, Outcome } from '../contract/executor.ts'

const maxTranscriptBytes = 256 * 1024

export interface CommandExecutorOptions {
  readonly argv: readonly [string, ...string[]]
  readonly stdin?: RunOptions['stdin']
  readonly secrets?: RunOptions['secrets']
}

export const createCommandExecutor = ({ argv, stdin, secrets }: CommandExecutorOptions): Executor => ({
  name: 'command',
  async execute(assignment) {
    const { sandbox, signal } = assignment
    const transcript = openTranscript(assignment, argv)
    const result = await sandbox.commands.run(argv, {
      signal,
      ...(stdin === undefined ? {} : { stdin }),
      ...(secrets === undefined ? {} : { secrets }),
      onStdout(chunk) {
        assignment.show({ kind: 'stdout', chunk })
        transcript.stdout(chunk)
      },
      onStderr(chunk) {
        assignment.show({ kind: 'stderr', chunk })
        transcript.stderr(chunk)
      },
    })
    const outcome = outcomeOf(result)
    transcript.end(outcome.summary)
    return outcome
  },
})

function outcomeOf({ ended, exitCode }: ExecResult): Outcome {
  const told = { ...describeEnd(ended), exitCode }
  if (ended.by === 'exit' && ended.code === 0) return { ...told, status: 'completed' }
  if (ended.by === 'cancel') return { ...told, status: 'cancelled' }
  return { ...told, status: ended.by === 'lost' ? 'lost' : 'failed' }
}

function describeEnd(ended: Ended): { readonly summary: string; readonly reason?: string } {
  switch (ended.by) {
    case 'exit':
      return ended.code === 0
        ? { summary: 'The command ended well.' }
        : { summary: `The command ended with exit code ${ended.code}.`, reason: 'exit_nonzero' }
    case 'signal':
      return { summary: `The command was ended by ${ended.signal}.`, reason: 'signal' }
    case 'timeout':
      return { summary: `The command was ended after its ${ended.afterMs} ms.`, reason: 'timeout' }
    case 'oom':
      return { summary: 'The command ran out of memory.', reason: 'oom' }
    case 'cancel':
      return { summary: 'The command was cancelled.' }
    case 'lost':
      return { summary: `Nobody can know how the command ended: ${ended.reason}`, reason: 'command_lost' }
  }
}

interface Transcript {
  stdout(chunk: Uint8Array): void
  stderr(chunk: Uint8Array): void
  end(summary: string): void
}

/** Indented, so that no text of the guest's can pass for the transcript's own. */
function openTranscript(assignment: Pick<Assignment, 'say'>, argv: readonly string[]): Transcript {
  const say = (text: string): void => assignment.say(text)
  let left = maxTranscriptBytes
  const indented = (text: string): string => text.replaceAll('\n', '\n    ')
  const write = (decoder: StringDecoder, chunk: Uint8Array): void => {
    if (left === 0) return
    const shown = chunk.subarray(0, left)
    left -= shown.length
    say(indented(withoutControls(decoder.write(Buffer.from(shown)))))
    if (left === 0) say('\n\nThe transcript ends here; the record of the action holds more.\n')
  }
  const [out, err] = [new StringDecoder('utf8'), new StringDecoder('utf8')]
  say(`    $ ${indented(withoutControls(argv.map(quoted).join(' ')))}\n\n    `)
  return {
    stdout: (chunk) => write(out, chunk),
    stderr: (chunk) => write(err, chunk),
    end: (summary) => say(`\n\n${withoutControls(summary)}\n`),
  }
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** Whoever prints the transcript on a terminal must not have it moved by what a guest wrote. */
const withoutControls = (text: string): string =>
  text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
