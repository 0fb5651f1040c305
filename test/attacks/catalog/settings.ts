import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('settings', { local: 'blocked', hostSide: 'settings are read before a backend is chosen' })
// These need a guest.
const { blocked: blockedInside } = rowsOf('settings')

export const settings: readonly AttackRow[] = [
  blocked('settings that another party could have written are refused', 'owner and mode are checked on the descriptor'),
  blocked('a settings file that is a symbolic link is refused', 'O_NOFOLLOW'),
  blocked("a settings file of another user is refused, and root's is not", 'owner checked on the descriptor'),
  blocked(
    'a settings file cannot switch the sandbox off',
    'a backend that isolates nothing is taken from the command line only',
    { seen: 'claude-code #86504' },
  ),
  blocked(
    'a settings file that was found cannot load code',
    'a provider of the operator is taken from a file that he named',
  ),
  blockedInside('a guest cannot make settings for the workspace that it works in', 'the name is protected'),
  blockedInside(
    'settings that a guest plants in a subdirectory are refused',
    'a directory in which a guest works is marked',
    { local: 'blocked' },
  ),
  blocked('settings that cannot be read stop everything, and no default takes their place', 'fail closed', {
    seen: 'claude-code #84863',
  }),
]
