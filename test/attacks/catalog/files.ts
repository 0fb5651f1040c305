import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('files')
const byActions = { local: 'blocked' } as const

export const files: readonly AttackRow[] = [
  blocked(
    'a path that climbs out of the mounts is refused by the file actions',
    'paths are normalised in the guest’s view and walked by descriptor',
    {
      ...byActions,
      seen: 'just-bash threat model 3.3',
    },
  ),
  blocked(
    'a link to the outside reads and writes nothing outside',
    'commands: the target is not mounted; actions: each component is opened with O_NOFOLLOW',
    {
      seen: 'acpx #483, librefang #6299, IronClaw #4797, bounty-challenge #49674',
    },
  ),
  blocked('a project that brings .glovebox as a link is refused', 'the agent’s home is made by descriptor'),
  blocked('a symlinked protected path is refused', 'a mount is never laid over a link', {
    seen: 'CVE-2026-87766, srt #221',
  }),
  blocked(
    'a protected name that became a link is refused before the next exec',
    'every protected name is looked at again before each exec',
    {
      seen: 'CVE-2026-87766',
    },
  ),
  blocked(
    "a mount's host path swapped for a link after creation is not followed",
    'mounts are laid by descriptor, or from a staged copy',
    {
      seen: 'CVE-2024-42472, Codex writable roots',
    },
  ),
  blocked(
    'a read-only mount inside a writable one cannot be uncovered by moving its parent',
    'directories that lead to a mount are mount points themselves',
  ),
  blocked(
    'a hidden file stays hidden when its directory is moved',
    'directories that lead to a hidden path are mount points themselves',
    { seen: 'srt on macOS' },
  ),
  blocked('a hidden path that leads through a link is refused', 'a mask is never laid over or through a link', {
    seen: 'CVE-2026-87766',
  }),
  blocked('a masked directory is neither listable nor writable', 'an empty tmpfs with mode 000, read-only', {
    seen: 'srt #149',
  }),
  blocked(
    'a hidden file inside a readable directory stays hidden, and what is writable below stays writable',
    'mounts are laid from the outside in, masks last',
    {
      seen: 'srt #193, #263',
    },
  ),
  blocked(
    'a vault that another mount shows is refused',
    'overlapping host directories are compared when the mounts are read',
  ),
  blocked('a hard link to a file outside cannot be made', 'EXDEV: every mount is another one'),
  blocked(
    'a file with a second name outside is not read or written by the file actions',
    'link count checked on the descriptor; writes replace',
    {
      ...byActions,
      seen: 'just-bash, srt',
    },
  ),
  open(
    'a command changes a file of the workspace that has a second name outside',
    'A hard link that the operator made before is the same file; commands may write what is in a writable mount.',
    { seen: 'srt documents it as open' },
  ),
  blocked(
    'the root of another process is the same root',
    'one mount namespace, an own pid namespace, no rule by path text',
    { seen: 'Ona 2026-03' },
  ),
  blocked('a path with a NUL is refused', 'checked before anything is opened', {
    ...byActions,
    seen: 'srt nul_in_path, just-bash validatePath',
  }),
  blocked(
    'names with newlines, globs, quotes and dashes neither widen nor break the boundary',
    'NUL-separated arguments by descriptor; no generated rule text',
    {
      seen: 'srt literal entries, Gemini PR #22832',
    },
  ),
  blocked('options of bwrap in arguments, names and variables stay plain text', 'argument arrays and "--"', {
    seen: 'flatpak CVE-2024-32462',
  }),
  blocked(
    'a path that is too long and three thousand mounts end in an error of their own',
    'counted before bwrap is started',
    byActions,
  ),
  open(
    'a file that matches denyRead and is made later by the host is readable',
    'A mask needs something to lie on; what did not exist when the sandbox was made has none.',
    {
      seen: 'srt README, #432',
    },
  ),
  open(
    'a case variant of a protected name is planted by a command on a case-sensitive filesystem',
    'There it is another name, which no program of the host reads. On a case-insensitive one it is the same entry and covered. The file actions refuse every spelling.',
    { seen: 'srt --iglob' },
  ),
  blocked(
    'a FIFO, a socket and a device do not hang the file actions',
    'O_NONBLOCK, and regular files only',
    byActions,
  ),
  open(
    'a socket or FIFO that the guest plants in the workspace is used by a program of the host',
    'The workspace is the guest’s; the host must treat it as hostile.',
  ),
  blocked(
    'set-id bits, other owners, capabilities and devices cannot be made',
    'seccomp, one mapped id, no capability, nodev',
  ),
  blocked('a setuid file in the workspace gives nothing', 'no_new_privs, and nosuid on every mount'),
  blocked('a file larger than the limit cannot be made', 'RLIMIT_FSIZE, hard', { seen: 'nsjail default' }),
  blocked(
    'a sparse file does not fill the memory of the host',
    'size checked on the descriptor before reading',
    byActions,
  ),
  open(
    'many files fill the disk of a writable mount',
    'There is no quota on a bind mount. Give the workspace a filesystem of its own, or a project quota.',
  ),
  blocked('/tmp and /dev/shm are private to each sandbox and each exec', 'a tmpfs for every exec', {
    seen: 'Gemini; not srt',
  }),
  blocked('a crash leaves no core file', 'RLIMIT_CORE 0, hard'),
  blocked("the host's root and its kernel directories cannot be mounted", 'refused on the real path', {
    local: 'blocked',
  }),
  blocked('nothing but mounts, home and temporary directories can be written', 'an allow-listed read-only root'),
]
