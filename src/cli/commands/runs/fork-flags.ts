// The flags of `glovebox runs fork`, apart from its work: whoever asks for help loads only these.
import { type Command, Option } from 'commander'
import type { RunsFlags } from './told.ts'

export interface ForkFlags extends RunsFlags {
  readonly at?: string
  readonly sandbox?: string
  readonly runId?: string
  readonly prompt?: string
  readonly promptFile?: string
  readonly copy?: boolean
  readonly start?: boolean
  readonly config?: string
  readonly backend?: string
}

export const forkDescription = `Makes a new run whose workspace begins as the other's was: at its end, or at an earlier event or action. As root the other
run's files are seen through and copied only when they are changed, so that it takes as long for a gigabyte as for a line; then the
other run must stay as it is. Else they are copied, and that is said. Deliverables begin empty. With --start the new run begins at
once, with the command after "--" or that of the other run; else it stays pending, and can itself be forked with --start.`

export function addForkFlags(command: Command): Command {
  const known = new Set(command.options.map(({ long }) => long))
  const options = [
    new Option('--at <moment>', 'the number of an event, or action:N (default: the end)'),
    new Option('--sandbox <directory>', 'where the new run is to lie (default: beside the other); it must not exist'),
    new Option('--run-id <id>', 'its own name'),
    new Option('--prompt <text>', 'what is to be done (default: the prompt of the other run)'),
    new Option('--prompt-file <file>', 'the prompt as a file').conflicts('prompt'),
    new Option('--copy', 'copy everything, and depend on the other run no longer'),
    new Option('--start', 'start it at once'),
    new Option('--config <file>', 'with --start: the settings file (default: the nearest glovebox.yaml)'),
    new Option('--backend <name>', 'what makes the boundary'),
    new Option('--json', 'print JSON'),
    new Option('--debug', 'show stack traces'),
  ]
  for (const option of options) if (!known.has(option.long)) command.addOption(option)
  return command
}
