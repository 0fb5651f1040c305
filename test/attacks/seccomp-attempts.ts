// The attempts of probes/syscalls.c by attack: what the filter must answer, and what the control must show. Attempts for
// which the control is refused too, by a missing capability or by what a kernel lacks, say so.

/** What the control must show: success, another answer than the filter's, or nothing, for the reason given. */
export type Control = 'succeeds' | 'differs' | { readonly refusedToo: string }
export type Attempt = readonly [name: string, answer: string, control: Control]
export interface Attack {
  readonly title: string
  readonly attempts: readonly Attempt[]
  /** Calls that only x64 has. */
  readonly onX64?: readonly Attempt[]
}

const noCapability: Control = { refusedToo: 'the capability is dropped' }
const dependsOnKernel: Control = { refusedToo: 'some kernels are built without it' }

export const attacks: readonly Attack[] = [
  {
    title: 'calls of another architecture end the process',
    attempts: [],
    onX64: [['i386_getpid', 'SIGSYS', 'differs']],
  },
  {
    title: 'calls of the x32 interface end the process',
    attempts: [],
    onX64: [['x32_getpid', 'SIGSYS', 'differs']],
  },
  {
    title: 'calls newer than the table are not there',
    attempts: [['newer_call', 'ENOSYS', dependsOnKernel]],
  },
  {
    title: 'a file cannot be created with a set-id bit',
    attempts: [
      ['openat', 'EPERM', 'succeeds'],
      ['openat_tmpfile', 'EPERM', 'succeeds'],
    ],
    onX64: [
      ['open', 'EPERM', 'succeeds'],
      ['creat', 'EPERM', 'succeeds'],
    ],
  },
  {
    title: 'openat2 is not there, so its struct cannot carry a set-id mode',
    attempts: [['openat2', 'ENOSYS', 'succeeds']],
  },
  {
    title: 'a file cannot be given a set-id bit',
    attempts: [
      ['fchmod', 'EPERM', 'succeeds'],
      ['fchmod_group', 'EPERM', 'succeeds'],
      ['fchmod_high_bits', 'EPERM', 'succeeds'],
      ['fchmodat', 'EPERM', 'succeeds'],
      ['fchmodat2', 'EPERM', 'differs'],
    ],
    onX64: [['chmod', 'EPERM', 'succeeds']],
  },
  {
    title: 'a node cannot be made with a set-id bit',
    attempts: [['mknodat_set_id', 'EPERM', 'succeeds']],
    onX64: [['mknod_set_id', 'EPERM', 'succeeds']],
  },
  {
    title: 'a device node cannot be made',
    attempts: [
      ['mknodat_device', 'EPERM', 'succeeds'],
      ['mknodat_block', 'EPERM', noCapability],
    ],
    onX64: [['mknod_device', 'EPERM', 'succeeds']],
  },
  {
    title: 'a terminal cannot be typed into, whatever the high bits of the request',
    attempts: [
      ['tiocsti', 'EPERM', 'differs'],
      ['tiocsti_high_bits', 'EPERM', 'differs'],
      ['tioclinux', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'a line discipline cannot be set',
    attempts: [['tiocsetd', 'EPERM', 'succeeds']],
  },
  {
    title: 'only the unix, internet and netlink socket families exist',
    attempts: [
      ['socket_packet', 'EAFNOSUPPORT', 'differs'],
      ['socket_vsock', 'EAFNOSUPPORT', dependsOnKernel],
      ['socket_alg', 'EAFNOSUPPORT', dependsOnKernel],
    ],
  },
  {
    title: 'netlink is there for routes only',
    attempts: [
      ['socket_netlink_netfilter', 'EPROTONOSUPPORT', dependsOnKernel],
      ['socket_netlink_generic', 'EPROTONOSUPPORT', 'succeeds'],
    ],
  },
  {
    title: 'raw sockets are refused',
    attempts: [
      ['socket_raw', 'EPERM', noCapability],
      ['socket_raw6', 'EPERM', noCapability],
      ['socket_inet_packet', 'EPERM', noCapability],
      ['socket_seqpacket', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'seldom used internet protocols are refused',
    attempts: [
      ['socket_udplite', 'EPROTONOSUPPORT', dependsOnKernel],
      ['socket_mptcp', 'EPROTONOSUPPORT', dependsOnKernel],
    ],
  },
  {
    title: 'only unix sockets come in pairs',
    attempts: [['socketpair_inet', 'EAFNOSUPPORT', 'differs']],
  },
  {
    title: 'a new namespace is refused',
    attempts: [
      ['clone', 'EPERM', 'succeeds'],
      ['clone_high_bits', 'EPERM', 'succeeds'],
      ['unshare_user', 'EPERM', 'succeeds'],
      ['unshare_all', 'EPERM', 'succeeds'],
    ],
  },
  {
    title: 'clone3 is not there, so its struct cannot ask for a namespace',
    attempts: [['clone3', 'ENOSYS', 'succeeds']],
  },
  {
    title: 'unusual personalities are refused',
    attempts: [['personality', 'EPERM', 'succeeds']],
  },
  {
    title: 'another namespace cannot be entered',
    attempts: [['setns', 'EPERM', 'differs']],
  },
  {
    title: 'the calls that trace and read other processes are refused',
    attempts: [
      ['ptrace', 'EPERM', 'succeeds'],
      ['process_vm_readv', 'EPERM', 'succeeds'],
      ['process_vm_writev', 'EPERM', 'succeeds'],
      ['kcmp', 'EPERM', 'differs'],
      ['pidfd_getfd', 'EPERM', 'succeeds'],
    ],
  },
  {
    title: 'mounts cannot be changed',
    attempts: [
      ['mount', 'EPERM', 'differs'],
      ['umount2', 'EPERM', 'differs'],
      ['open_tree', 'EPERM', 'differs'],
      ['open_tree_attr', 'EPERM', 'differs'],
      ['move_mount', 'EPERM', noCapability],
      ['fsopen', 'EPERM', noCapability],
      ['fsconfig', 'EPERM', 'differs'],
      ['fsmount', 'EPERM', noCapability],
      ['fspick', 'EPERM', noCapability],
      ['mount_setattr', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'the root cannot be changed',
    attempts: [
      ['pivot_root', 'EPERM', noCapability],
      ['chroot', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'a file cannot be opened by its handle',
    attempts: [['open_by_handle_at', 'EPERM', noCapability]],
  },
  {
    title: 'kernel keyrings are out of reach',
    attempts: [
      ['keyctl', 'EPERM', 'succeeds'],
      ['add_key', 'EPERM', 'succeeds'],
      ['request_key', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'io_uring is not there',
    attempts: [
      // An operator may have switched it off, which answers EPERM.
      ['io_uring_setup', 'ENOSYS', 'differs'],
      ['io_uring_enter', 'ENOSYS', 'differs'],
      ['io_uring_register', 'ENOSYS', 'differs'],
    ],
  },
  {
    title: 'bpf, perf and userfaultfd are refused',
    attempts: [
      ['bpf', 'EPERM', noCapability],
      ['perf_event_open', 'EPERM', 'differs'],
      ['userfaultfd', 'EPERM', 'succeeds'],
    ],
  },
  {
    title: 'kernels and modules cannot be loaded',
    attempts: ['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'].map((name): Attempt => [
      name,
      'EPERM',
      noCapability,
    ]),
  },
  {
    title: 'hardware ports and segment tables are refused',
    attempts: [],
    onX64: [
      ['iopl', 'EPERM', dependsOnKernel],
      ['ioperm', 'EPERM', dependsOnKernel],
      ['modify_ldt', 'EPERM', 'differs'],
    ],
  },
  {
    title: 'the machine cannot be administered',
    attempts: [
      ...['swapon', 'swapoff', 'reboot', 'acct', 'syslog', 'vhangup', 'sethostname', 'setdomainname'].map(
        (name): Attempt => [name, 'EPERM', noCapability],
      ),
      ['quotactl', 'EPERM', 'differs'],
      ['quotactl_fd', 'EPERM', 'differs'],
      ['settimeofday', 'EPERM', 'differs'],
      ['clock_settime', 'EPERM', 'differs'],
      ['clock_adjtime', 'EPERM', 'succeeds'],
      ['adjtimex', 'EPERM', 'succeeds'],
    ],
  },
  {
    title: 'remains of old kernels are not there',
    attempts: [['nfsservctl', 'ENOSYS', dependsOnKernel]],
    onX64: [['sysfs', 'ENOSYS', dependsOnKernel]],
  },
]

export const harmless = [
  'fchmod_plain',
  'openat_plain',
  'openat_no_create',
  'mknodat_fifo',
  'mkdirat_makes_no_set_id',
  'tcgets',
  'socket_netlink_route',
  'socket_tcp',
  'socket_udp6',
  'socketpair_unix',
]

export const attemptsOf = ({ attempts, onX64 = [] }: Attack): readonly Attempt[] =>
  process.arch === 'x64' ? [...attempts, ...onX64] : attempts

/** Each behind its title, which a test must bear whole: `$title` would cut it. */
const titled = (some: readonly Attack[]): readonly (readonly [string, Attack])[] =>
  some.map((attack) => [attack.title, attack])

export const attacksEverywhere = titled(attacks.filter(({ attempts }) => attempts.length > 0))
/** All of their calls are such as only x64 has. */
export const attacksOnX64 = titled(attacks.filter(({ attempts }) => attempts.length === 0))
