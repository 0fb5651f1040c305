// The flags of `glovebox runs diff`, apart from its work: whoever asks for help loads only these.
import { type Command, InvalidArgumentError } from 'commander'
import type { RunsFlags } from './told.ts'

export interface DiffFlags extends RunsFlags {
  readonly action?: number
  readonly each?: boolean
  readonly stat?: boolean
  readonly nameOnly?: boolean
  readonly full?: boolean
}

export const addDiffFlags = (command: Command): Command =>
  command
    .option('--action <number>', 'only what this action changed', readNumber)
    .option('--each', 'what each action changed, one after the other')
    .option('--stat', 'a line for each file instead of its contents')
    .option('--name-only', 'only the paths')
    .option('--full', 'every line, also of long files')

function readNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give the number of an action, from 1.')
  return Number(text)
}
