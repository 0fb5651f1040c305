import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('persistence')
const held = 'read-only mounts over the names, and placeholders where they are missing'

export const persistence: readonly AttackRow[] = [
  blocked('git hooks and configuration cannot be planted', held, {
    seen: 'core.fsmonitor, core.hooksPath, filter.*.clean',
  }),
  blocked('shell start-up files cannot be planted in any writable mount', held, { seen: 'srt #175' }),
  blocked('environment loaders cannot be planted', held, { seen: 'direnv, mise, asdf' }),
  blocked('editor tasks cannot be planted', held),
  blocked("an agent's settings cannot be planted where they are missing", held, {
    seen: 'CVE-2026-25725, agentcage #173, sandy PR #79',
  }),
  blocked('keys and commands for ssh cannot be planted', held),
  blocked('project settings cannot switch the sandbox off', `${held}; essential names cannot be given up`, {
    seen: 'claude-code #86504, opencode-sandbox-plugin PR #14',
  }),
  blocked('a protected directory cannot be moved aside', 'every directory on the way is a mount point: EBUSY', {
    seen: 'srt pins, Codex on macOS',
  }),
  blocked('a worktree whose .git is a file cannot be aimed at another repository', 'the file itself is held read-only'),
  blocked(
    'hooks of a nested repository near the top cannot be planted',
    'repositories down to three levels are found when a sandbox is made',
    { seen: 'srt depth 3' },
  ),
  blocked(
    'a repository in a directory that the agent closed stays protected in the next sandbox',
    'a directory that cannot be looked into is held read-only as a whole',
  ),
  open(
    'hooks of a nested repository that lies deeper, or among more than 400 directories, are planted',
    'The look for repositories is bounded, so that its cost does not grow with the workspace. Run git on the host only in repositories that you protect.',
    { seen: 'srt depth 3' },
  ),
  blocked(
    'a second mount of the same directory does not open what the first protects',
    'names are held in every mount that shows them',
  ),
  blocked('a protected name cannot be planted, changed, moved or removed by a single command', held),
  blocked(
    'what the host puts in the place of a protected name is protected from the next command on',
    'what was laid ahead serves the first command alone',
  ),
  blocked(
    'two sandboxes on one workspace do not open each other’s placeholders',
    'placeholders are shared by inode and go with the last user',
  ),
  blocked(
    'a name that the host made while a sandbox lives is protected from the next exec on',
    'looked at again before each exec',
  ),
  open(
    'a protected file that the host replaces while a command runs is open to that command',
    'Renaming over a mount point in another mount namespace takes the mount away (git config, an editor’s save). The next exec is guarded again; end long commands before you change protected files.',
  ),
  blocked(
    'a hard link to a protected file can neither be made nor used',
    'EXDEV for commands; link count and identity for actions',
  ),
  blocked('a working directory outside the mounts is refused', 'a cwd never widens the boundary', {
    local: 'blocked',
    seen: 'CVE-2025-59532 (Codex)',
  }),
  blocked('a link in place of a protected name is refused', 'the sandbox is not made', { seen: 'srt #221' }),
  blocked(
    'no request, variable or action switches the sandbox off',
    'strict schemas and ceilings; there is no such switch',
    { local: 'blocked', seen: 'srt #97, trailofbits PR #50, Ona' },
  ),
  blocked('variables that one command exports do not reach the next', 'a fresh environment for each exec', {
    local: 'blocked',
    seen: 'CVE-2026-22708 (Cursor)',
  }),
  blocked(
    'git inside still works beside its protected files',
    'the control of this area: protection does not take git from the agent',
  ),
  blocked(
    'a bwrap that is setuid or that others can change is not used',
    'owner and mode are checked when it is looked for',
    {
      seen: 'CVE-2020-5291, CVE-2026-41163',
    },
  ),
  blocked('a state directory that others can write is refused', 'owner and mode are checked at every start', {
    local: 'blocked',
  }),
  blocked('a bwrap earlier in PATH is not used', 'fixed places, owned by root', { seen: 'Codex' }),
  open(
    'package.json scripts, .npmrc, .yarnrc.yml, Makefiles and CI workflows are planted',
    'An agent must be able to edit them to do its work. Whoever runs them on the host runs the guest’s code.',
    { seen: 'Yarn plugins in the CVE list of Claude Code' },
  ),
  open(
    '.gitattributes names a filter that the operator’s own git configuration defines',
    'The file is part of the project; the filter is the operator’s choice. Review before you check out.',
  ),
  open(
    '.env is planted and loaded by a program of the host',
    'It is a file of the project that agents edit; nothing on the host should load it unseen.',
  ),
  open(
    'two sandboxes that share a writable mount pass descriptors and data to each other',
    'A socket in a shared directory carries both. Sandboxes that share a writable mount have together what each has alone.',
  ),
  open(
    'the package itself lies in a writable mount and is rewritten',
    'Whoever mounts the directory in which Glovebox is installed gives it away. Install it outside the workspaces.',
    { seen: 'srt README' },
  ),
  open(
    'an archive that the guest made is unpacked on the host',
    'Glovebox unpacks nothing. Unpack inside, or check each member (zip-slip, links, devices).',
  ),
]
