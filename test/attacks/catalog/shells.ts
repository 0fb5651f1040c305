import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('shells')
export const shells: readonly AttackRow[] = [
  blocked(
    'a command cannot end its own share of the output, nor that of the next one',
    'the mark that ends a share is 128 random bits of the host, for one command, and is read by the shell only when that has ended',
  ),
  blocked(
    'what runs in one shell neither sees nor ends what runs in another one',
    'each shell is a boundary of its own, with its own process namespace and private places',
  ),
  open(
    'what runs in a shell can lie about later commands of the same shell',
    'whoever runs code in a shell can replace what its commands mean; a command that must not trust those before it is run without a shell',
    { local: 'not a boundary' },
  ),
]
