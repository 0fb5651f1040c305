// What each file of attacks is started against. A row of the catalog may say `blocked` of docker or gVisor only where its test is in a file
// that runs there, or where no backend has a part in it. test/architecture/catalog.test.ts holds the rows and the files to this, and
// lanes.test.ts the lanes.
export type Reach = 'every backend' | 'host' | 'bwrap' | 'containers'

/** By the name of the file, without `.test.ts`.
 *
 * `every backend`: GLOVEBOX_ATTACK_BACKEND says which; none is named in the file. `host`: our own code before or beside every backend, so that
 * the test starts no sandbox of its own; each of its rows says why. `bwrap` and `containers`: what only these have. */
export const reach: Readonly<Record<string, Reach>> = {
  actions: 'every backend',
  cells: 'every backend',
  descriptors: 'every backend',
  docker: 'containers',
  environment: 'every backend',
  execs: 'every backend',
  files: 'every backend',
  'files-mounts': 'every backend',
  'files-special': 'every backend',
  'host-paths': 'host',
  kernel: 'every backend',
  'kernel-identity': 'every backend',
  layers: 'bwrap',
  limits: 'every backend',
  network: 'every backend',
  output: 'every backend',
  persistence: 'every backend',
  'persistence-command-line': 'every backend',
  'persistence-host': 'every backend',
  policy: 'every backend',
  'policy-nested': 'host',
  processes: 'every backend',
  recycle: 'every backend',
  resources: 'every backend',
  seccomp: 'bwrap',
  'seccomp-ordinary': 'bwrap',
  'self-description': 'every backend',
  settings: 'host',
  'settings-planted': 'every backend',
  shells: 'every backend',
  sockets: 'every backend',
  'symlink-race': 'host',
  'system-calls': 'every backend',
  terminals: 'every backend',
  'terminals-left': 'host',
  vault: 'every backend',
  'vault-records': 'every backend',
  'vault-settings': 'host',
}
