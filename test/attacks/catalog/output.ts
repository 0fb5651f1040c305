import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('output')
export const output: readonly AttackRow[] = [
  blocked('a denial carries no control characters', 'what a message names is shown only if it is plain text'),
  blocked('printed words decide nothing', 'status travels on a descriptor that the guest does not have', {
    local: 'blocked',
    seen: 'srt',
  }),
  open(
    'a program prints a complaint that reads as a refusal of the kernel',
    'Such a denial is marked `observed`: it repeats what the program said. Those that are marked `decided` are ours.',
  ),
  open(
    'escape sequences act on the terminal on which `glovebox exec` runs',
    'The command line hands output on byte for byte, as a shell does. Use --json, or the tools, where nobody should be acted upon.',
  ),
]
