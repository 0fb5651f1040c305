// The flags of `glovebox runs replay`, apart from its work: whoever asks for help loads only these.
import { type Command, Option } from 'commander'
import { collectEnvironment } from '../../flags.ts'
import type { RunsFlags } from './told.ts'

export interface ReplayFlags extends RunsFlags {
  readonly sandbox?: string
  readonly env?: Readonly<Record<string, string>>
  readonly backend?: string
  readonly asRecorded?: boolean
}

export function addReplayFlags(command: Command): Command {
  const known = new Set(command.options.map(({ long }) => long))
  const options = [
    new Option('--sandbox <directory>', 'the run directory of the replay (default: ./runs/<run id>)'),
    new Option(
      '--env <name=value>',
      'a variable that the run had; values are never recorded; may be repeated',
    ).argParser(collectEnvironment),
    new Option('--backend <name>', 'what makes the boundary (default: the backend that the run had)'),
    new Option(
      '--as-recorded',
      'give it the network, limits and host directories of the record; trust who recorded it',
    ),
    new Option('--json', 'print JSON'),
    new Option('--debug', 'show stack traces'),
  ]
  for (const option of options) if (!known.has(option.long)) command.addOption(option)
  return command
}
