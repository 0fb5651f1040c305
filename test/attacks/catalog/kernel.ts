import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('kernel')
export const kernel: readonly AttackRow[] = [
  blocked('/proc/sys cannot be written', 'bound read-only; the guest is never kernel uid 0', {
    seen: 'core_pattern as root, also in bwrap 0.11.1',
  }),
  blocked('sysrq, kcore and kmsg are out of reach', 'a fresh /proc and an unprivileged id; the devices are not there'),
  blocked('/sys and control groups are not there', 'neither is mounted', { seen: 'CVE-2022-0492' }),
  blocked('a user namespace cannot be made inside', '--disable-userns, the filter, and clone3 answered with ENOSYS'),
  blocked('mounts can be neither peeled off nor laid', 'no capability, and the filter', {
    seen: 'flatpak CVE-2021-41133',
  }),
  blocked('another root or namespace cannot be entered', 'no capability, and the filter'),
  blocked(
    'the terminal of the host cannot be typed into',
    'a session without a terminal, pipes for streams, and the filter',
    {
      seen: 'CVE-2017-5226, CVE-2019-10063, CVE-2023-28100',
    },
  ),
  blocked('a process cannot be traced', 'the filter; processes outside are not even seen', { seen: 'CVE-2026-41163' }),
  blocked('io_uring is not there to pass by the filter', 'the filter answers ENOSYS', { seen: 'srt, Codex' }),
  blocked("the operator's keyring is out of reach", 'the filter refuses the calls for keys'),
  blocked('bpf, perf, userfaultfd, kexec and modules are refused', 'the filter, and no capability', { seen: 'fence' }),
  blocked('seldom used socket families are not there', 'the filter lets unix, internet and netlink routes through'),
  blocked('only harmless devices are there', 'a /dev of its own with null, zero, full, random, urandom and tty'),
  blocked('the guest has no capability', 'every capability is dropped, from the bounding set too'),
  blocked('set-id programs of the system give nothing', 'no_new_privs, and nosuid on every mount'),
  blocked("the guest is not root in the kernel's eyes", 'started by root, bwrap runs as an id that nobody has'),
  blocked('a command is never read as an option of bwrap', 'words by descriptor, each ended by NUL, then "--"', {
    seen: 'flatpak CVE-2024-32462',
  }),
  blocked('a setuid bwrap is refused', 'the file is looked at before it is used', {
    seen: 'CVE-2020-5291, CVE-2026-41163',
  }),
  open(
    'a flaw of the kernel behind a call that ordinary programs need',
    'Guest and host share one kernel. The filter makes it smaller to the guest, not another; for hostile code use a virtual machine or gVisor.',
  ),
  open(
    '/proc/self/mountinfo tells the names of the host directories behind mounts',
    'The kernel writes the source of a bind mount there. Names are told, not contents; do not put secrets into directory names.',
  ),
  open(
    'a program of the guest reads the memory of another program of the same exec',
    'Programs of one exec have one id and one namespace. Two execs, or two sandboxes, do not see each other.',
  ),
]
