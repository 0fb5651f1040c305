// Names below every writable mount that the guest may neither change nor create, because a program of the
// host later reads them and does what they say. Each has the hand-off of trust that it closes.
//
// Declared not a boundary, because an agent must be able to edit them to do its work: package.json, .npmrc,
// .yarnrc.yml, .env, Makefile, CI workflows, AGENTS.md and source code. Whoever runs those on the host runs the
// guest's code. The same holds for repositories that the guest makes in subdirectories, for submodules below
// .git/modules, and for a directory that the guest fills like a bare repository: git run there on the host obeys
// the guest's configuration. .config is left alone, since masking it where it is missing would take it from every tool.

export type PlaceholderKind = 'directory' | 'file'

export interface ProtectedName {
  readonly name: string
  /** What it is when it exists, and so what stands in for it when it does not. */
  readonly kind: PlaceholderKind
  readonly reason: string
  /** What the stand-in must hold. Absent: nothing. */
  readonly content?: string
  /** Not even settings can give it up. */
  readonly essential?: true
}

/** An empty settings file is an error. While a sandbox runs, or after its host was killed, this one means that there is none. */
export const settingsStandIn = '# Stands where a sandbox must not put settings of its own. It is no settings file.\n'

const directory = (name: string, reason: string): ProtectedName => ({ name, kind: 'directory', reason })
const file = (name: string, reason: string): ProtectedName => ({ name, kind: 'file', reason })

// SECURITY: test/attacks/persistence: "git hooks and configuration cannot be planted"
const git: readonly ProtectedName[] = [
  directory('.git/hooks', 'git runs hooks on the host'),
  file('.git/config', 'core.fsmonitor, core.sshCommand, core.hooksPath and filters name programs that git runs'),
  file('.git/config.worktree', 'read after .git/config with the same powers'),
  // An empty or unreadable commondir makes git stop, so its stand-in says what holds without it: "here".
  {
    name: '.git/commondir',
    kind: 'file',
    reason: "moves hooks and configuration to a directory of the guest's choice",
    content: '.\n',
  },
  directory('.git/worktrees', 'holds a commondir for each linked worktree'),
  file('.gitmodules', 'its addresses can name programs (ext::) and options'),
  file('.gitconfig', 'read by every git where the mount is a home directory'),
]

// SECURITY: test/attacks/persistence: "shell start-up files cannot be planted in any writable mount"
const shellStartup: readonly ProtectedName[] = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
].map((name) => file(name, 'a shell of the host runs it where the mount is a home directory'))

const login: readonly ProtectedName[] = [
  directory('.ssh', 'authorized_keys lets strangers in, ProxyCommand runs programs'),
]

// SECURITY: test/attacks/persistence: "environment loaders cannot be planted"
const environmentLoaders: readonly ProtectedName[] = ['.envrc', '.tool-versions', 'mise.toml', '.mise.toml'].map(
  (name) => file(name, 'loaded by entering the directory on the host'),
)

// SECURITY: test/attacks/persistence: "editor tasks cannot be planted"
const editors: readonly ProtectedName[] = [
  directory('.vscode', 'tasks and settings run programs when the folder is opened'),
  directory('.idea', 'run configurations run programs'),
  directory('.devcontainer', 'its commands run on the host when the folder is opened'),
  file('.devcontainer.json', 'its commands run on the host when the folder is opened'),
]

// SECURITY: test/attacks/persistence: "an agent's settings cannot be planted where they are missing"
const agents: readonly ProtectedName[] = [
  directory('.claude', 'hooks in its settings run on the host'),
  directory('.codex', 'its settings name programs and switch sandboxes off'),
  directory('.gemini', 'its settings name programs and switch sandboxes off'),
  directory('.cursor', 'its settings name programs that run on the host'),
  file('.mcp.json', 'names servers that an agent starts on the host'),
]

// SECURITY: test/attacks/persistence: "project settings cannot switch the sandbox off"
const own: readonly ProtectedName[] = [
  { name: '.glovebox', kind: 'directory', reason: 'holds what Glovebox itself keeps of the project', essential: true },
  {
    name: 'glovebox.yaml',
    kind: 'file',
    reason: 'sets the policy of the next sandbox',
    content: settingsStandIn,
    essential: true,
  },
]

export const builtInProtections: readonly ProtectedName[] = Object.freeze([
  ...git,
  ...shellStartup,
  ...login,
  ...environmentLoaders,
  ...editors,
  ...agents,
  ...own,
])

export const builtInProtectedNames: readonly string[] = Object.freeze(builtInProtections.map(({ name }) => name))

export const findBuiltInProtection = (name: string): ProtectedName | undefined =>
  builtInProtections.find((protection) => protection.name === name)

/** Is `name` the same as `root`, or below it? On whole segments: `.github` is not below `.git`. */
export const isAtOrBelow = (name: string, root: string): boolean => name === root || name.startsWith(`${root}/`)
