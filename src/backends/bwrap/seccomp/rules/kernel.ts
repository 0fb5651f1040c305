// Rules for calls that are refused whatever their arguments: mounts, keys, rings, modules, administration.
import type { Rule } from '../rule.ts'

export const kernelRules: readonly Rule[] = [
  // SECURITY: peeling off a read-only bind or a mask; a remount.
  {
    calls: [
      'mount',
      'umount2',
      'open_tree',
      'open_tree_attr',
      'move_mount',
      'fsopen',
      'fsconfig',
      'fsmount',
      'fspick',
      'mount_setattr',
    ],
    answer: 'EPERM',
    reason: 'mounts are the boundary of the files',
    test: 'mounts cannot be changed',
  },
  // SECURITY: leaving the root.
  {
    calls: ['pivot_root', 'chroot'],
    answer: 'EPERM',
    reason: 'the root is the boundary of the files',
    test: 'the root cannot be changed',
  },
  // SECURITY: opens a file by inode, past every directory above it.
  {
    calls: ['open_by_handle_at'],
    answer: 'EPERM',
    reason: 'it opens files by number, whatever directory they are in',
    test: 'a file cannot be opened by its handle',
  },
  // SECURITY: keyrings are not divided by namespace: the session keyring of the operator is inherited.
  {
    calls: ['keyctl', 'add_key', 'request_key'],
    answer: 'EPERM',
    reason: 'the operator’s keyring is inherited and knows no namespaces',
    test: 'kernel keyrings are out of reach',
  },
  // SECURITY: a ring opens files and sockets without a system call, past this filter. Callers fall back.
  {
    calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
    answer: 'ENOSYS',
    reason: 'what a ring does is not seen by a filter',
    test: 'io_uring is not there',
  },
  // SECURITY: ways to run code in the kernel, to watch it, or to hold it still in the middle of a copy.
  {
    calls: ['bpf', 'perf_event_open', 'userfaultfd'],
    answer: 'EPERM',
    reason: 'they load programs into the kernel, watch it, or stop it at a chosen point',
    test: 'bpf, perf and userfaultfd are refused',
  },
  // SECURITY: replacing the kernel or a part of it.
  {
    calls: ['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'],
    answer: 'EPERM',
    reason: 'they replace the kernel or parts of it',
    test: 'kernels and modules cannot be loaded',
  },
  // SECURITY: access to ports, and the descriptor table that only 16- and 32-bit code needs.
  {
    calls: ['iopl', 'ioperm', 'modify_ldt'],
    answer: 'EPERM',
    reason: 'they reach hardware ports and segment tables',
    test: 'hardware ports and segment tables are refused',
  },
  // SECURITY: needs capabilities that the guest does not have; refused here too, before any kernel code runs.
  {
    calls: [
      'swapon',
      'swapoff',
      'reboot',
      'acct',
      'quotactl',
      'quotactl_fd',
      'syslog',
      'settimeofday',
      'clock_settime',
      'clock_adjtime',
      'adjtimex',
      'vhangup',
      'sethostname',
      'setdomainname',
    ],
    answer: 'EPERM',
    reason: 'the machine is administered by its operator',
    test: 'the machine cannot be administered',
  },
  // SECURITY: old entries that some kernels still carry and no program uses.
  {
    calls: [
      'uselib',
      '_sysctl',
      'sysfs',
      'create_module',
      'get_kernel_syms',
      'query_module',
      'nfsservctl',
      'lookup_dcookie',
    ],
    answer: 'ENOSYS',
    reason: 'remains of old kernels that no program uses',
    test: 'remains of old kernels are not there',
  },
]
