// What a mechanism can hold, as data. Policy is compared with this before anything starts; what is
// asked for and missing here is refused with POLICY_UNENFORCEABLE.

/** Every enforceable thing has one name, used in capabilities, `describe()`, `explain` and errors. */
export const capabilityNames = [
  'filesystem.isolated', // only mounts and the system's read-only directories are reachable
  'mount.readonly', // a read-only mount is read-only for commands, not only for file actions
  'mount.vault', // a vault's contents are unreachable for commands
  'mount.layers', // a mount shows directories below its own that it never changes
  'files.protected', // protected names can be neither changed nor created by commands
  'files.denyRead', // masked paths can be neither read nor listed by commands
  'network.none',
  'network.allowlist',
  'network.full',
  'memory',
  'cpu',
  'pids',
  'fileSize',
  'tmpSize',
  'process.isolated', // the guest can neither see nor signal processes of the host
  'process.tree', // when an exec ends, nothing that it started lives on
  'syscalls.filtered',
  'environment.isolated', // the guest's environment holds nothing that policy did not allow
  'secrets.scoped', // a secret that a command was given is out of reach for every other one
  'timeout',
  'output.bounded',
] as const

export type Capability = (typeof capabilityNames)[number]

/** `capability → by what it is enforced`. Absent means that the mechanism cannot. */
export type Capabilities = Readonly<Partial<Record<Capability, string>>>

export interface Enforced {
  readonly what: Capability
  readonly by: string
}

export interface NotEnforced {
  readonly what: Capability
  readonly why: string
}
