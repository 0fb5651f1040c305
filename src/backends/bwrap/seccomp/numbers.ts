// Numbers of the system calls that the rules name, by architecture. A call without an arm64 number does not exist there:
// arm64 began with the *at forms only. Numbers from 424 on are the same on every architecture.
export type Arch = 'x64' | 'arm64'

interface CallNumbers {
  readonly x64: number
  readonly arm64?: number
}

export const callNumbers = {
  // Files that carry a mode
  open: { x64: 2 },
  openat: { x64: 257, arm64: 56 },
  openat2: { x64: 437, arm64: 437 },
  creat: { x64: 85 },
  chmod: { x64: 90 },
  fchmod: { x64: 91, arm64: 52 },
  fchmodat: { x64: 268, arm64: 53 },
  fchmodat2: { x64: 452, arm64: 452 },
  mknod: { x64: 133 },
  mknodat: { x64: 259, arm64: 33 },
  // Namespaces and processes
  clone: { x64: 56, arm64: 220 },
  clone3: { x64: 435, arm64: 435 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  personality: { x64: 135, arm64: 92 },
  // Mounts and roots
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  open_tree: { x64: 428, arm64: 428 },
  open_tree_attr: { x64: 467, arm64: 467 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  // Sockets and terminals
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  ioctl: { x64: 16, arm64: 29 },
  // Kernel keyrings and rings
  keyctl: { x64: 250, arm64: 219 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  // Kernel code and memory
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  modify_ldt: { x64: 154 },
  // Administration
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  reboot: { x64: 169, arm64: 142 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  syslog: { x64: 103, arm64: 116 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  adjtimex: { x64: 159, arm64: 171 },
  vhangup: { x64: 153, arm64: 58 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  // Remains of old kernels
  uselib: { x64: 134 },
  _sysctl: { x64: 156 },
  sysfs: { x64: 139 },
  create_module: { x64: 174 },
  get_kernel_syms: { x64: 177 },
  query_module: { x64: 178 },
  nfsservctl: { x64: 180, arm64: 42 },
  lookup_dcookie: { x64: 212, arm64: 18 },
} as const satisfies Record<string, CallNumbers>

export type CallName = keyof typeof callNumbers

/** The newest call that was read when the rules were written: file_setattr of Linux 6.17, on both architectures. */
export const newestKnownCall = 469

export const findCallNumber = (call: CallName, arch: Arch): number | undefined => {
  const numbers: CallNumbers = callNumbers[call]
  return numbers[arch]
}
