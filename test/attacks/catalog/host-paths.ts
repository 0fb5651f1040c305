import { rowsOf, type AttackRow } from './row.ts'

const hostSide = 'the file actions walk on the host, by the same code for every backend'
const { blocked } = rowsOf('host-paths', { local: 'blocked', hostSide })

export const hostPaths: readonly AttackRow[] = [
  blocked('a NUL in a path is refused', 'checked when the path is read', { seen: 'srt nul_in_path' }),
  blocked(
    'a case variant of a protected name is refused',
    'names are compared as the most forgiving filesystem would',
    { seen: 'srt --iglob' },
  ),
  blocked(
    "started by root, a file action reaches no more than the mount's owner may",
    "the owner's permission bits are asked by hand, since the kernel asks root for none",
  ),
  blocked('a FIFO does not hang a read', 'O_NONBLOCK, and regular files only'),
  blocked('a hidden directory stays hidden under another name', 'hidden things are held by identity'),
  blocked(
    'a file cannot take the place of a protected directory',
    'what leads to a protected name may only be a directory',
  ),
  blocked('an ancestor of a protected path cannot be renamed', 'a rule below a path holds the path'),
  blocked(
    'a second name outside, linked and unlinked all the time, is not read',
    'link count checked on the descriptor, before and after',
  ),
  blocked('a write does not reach through a hard link', 'writes replace the name, not the file'),
  blocked('a write drops the setuid bit', 'set-id bits are never carried over'),
  blocked('a directory that is swapped in is not given away', 'owners are changed by descriptor'),
]
