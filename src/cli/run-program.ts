// The words of `glovebox run`. Loaded only for those who use them, and what they do when they are called.
import { type Command, Option } from 'commander'
import { addSandboxFlags, addServerFlags, type SandboxFlags } from './flags.ts'
import type { ProgramOptions } from './program.ts'

export interface RunFlags extends Omit<SandboxFlags, 'cwd'> {
  readonly config?: string
  readonly prompt?: string
  readonly promptFile?: string
  readonly sandbox?: string
  readonly sessionId?: string
  readonly taskId?: string
  readonly runId?: string
  readonly executor?: 'command' | 'model'
  readonly input?: readonly string[]
  readonly jsonEvents?: boolean
  readonly revises?: string
}

const examples = `Examples:
  $ glovebox run --prompt 'Count the words.' --input notes.txt -- sh -c 'wc -w notes.txt > /deliverables/count.txt'
  $ glovebox run --config glovebox.yaml --prompt-file task.md --sandbox ./runs/demo-001 -- python3 job.py
  $ glovebox run --config glovebox.yaml --prompt 'Write a report to /deliverables/report.md.' --executor model
  $ glovebox run --server http://127.0.0.1:4177 --prompt 'Count to ten.' -- sh -c 'seq 10 > /deliverables/count.txt'
`

const description = [
  'Performs one recorded run: a directory with the prompt, the config, everything that was done, and what came of it.',
  "The work is done by a command inside a sandbox, or by a model with the tools of one. Inside, /workspace and /deliverables are the run's own, and $GLOVEBOX_PROMPT_FILE names the prompt.",
  'With --server the run is made and kept there: nothing of this host is seen, nor its settings file; standard input is not handed on, and what the command prints is kept in the record.',
  "Exit code: 0 completed, or waiting for review; 1 failed; the command's own where it failed; 124 timeout, 125 glovebox failed or the end is unknown, 128+n signal n, 130 cancelled.",
].join('\n\n')

/** Fills the word `run` of the program. */
export function addRun(command: Command, options: ProgramOptions): void {
  command
    .description(description)
    .addHelpText('before', examples)
    .argument('[command...]', 'the command that does the work; no shell reads it')
    .passThroughOptions()
  const own = [
    new Option('--config <file>', 'the settings file (default: the nearest glovebox.yaml)'),
    new Option('--prompt <text>', 'what is to be done'),
    new Option('--prompt-file <file>', 'the prompt as a file; - or a pipe: standard input').conflicts('prompt'),
    new Option('--sandbox <directory>', 'where the run is to lie (default: runs/<run id>); it must not exist'),
    new Option('--session-id <id>', 'the thread of work that it belongs to'),
    new Option('--task-id <id>', 'the task that it is an attempt at'),
    new Option('--run-id <id>', 'its own name'),
    new Option('--executor <kind>', 'who does the work').choices(['command', 'model']),
    new Option('--input <path>', 'copy a file or directory into the workspace; may be repeated').argParser(collect),
    new Option(
      '--revises <run>',
      'do the task of a run again that was sent back, with what was written about it',
    ).conflicts(['prompt', 'promptFile', 'sessionId', 'taskId']),
    new Option('--json-events', 'print every event as a line of JSON').conflicts('json'),
  ]
  for (const option of own) command.addOption(option)
  addServerFlags(addSandboxFlags(command, options.directory, { without: ['cwd'] })).action(
    (argv: readonly string[], flags: RunFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/run.ts')).run(argv, flags, doing) })
    },
  )
}

const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]
