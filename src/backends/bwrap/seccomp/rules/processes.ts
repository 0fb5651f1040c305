// Rules for namespaces, personalities and one process reaching into another.
import { anyBit, noneOf, type Rule } from '../rule.ts'

// CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}. To clone(2) the bit of NEWTIME is part of the exit signal's number,
// and no signal is numbered that high, so that refusing it there costs nothing.
const newNamespaces = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000

const linuxPersonality = 0
const linux32Personality = 8
const withoutRandomAddresses = 0x40000 // for debuggers and sanitizers, which start themselves again with it
const tellPersonality = 0xffffffff

export const processRules: readonly Rule[] = [
  // SECURITY: in a new user namespace the guest has every capability: it can mount, and reach netfilter and the like.
  {
    calls: ['clone', 'unshare'],
    when: [anyBit(0, newNamespaces)],
    asking: 'for a new namespace',
    answer: 'EPERM',
    reason: 'a new user namespace gives back all capabilities inside it, and with them mounts and kernel code',
    test: 'a new namespace is refused',
  },
  // SECURITY: its flags lie in a struct that a filter cannot read; the C library falls back to clone.
  {
    calls: ['clone3'],
    answer: 'ENOSYS',
    reason: 'its flags lie in memory that a filter cannot read, so it could make a namespace',
    test: 'clone3 is not there, so its struct cannot ask for a namespace',
  },
  // SECURITY: READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and old layouts undo defences of programs and of the kernel.
  {
    calls: ['personality'],
    when: [noneOf(0, [linuxPersonality, linux32Personality, withoutRandomAddresses, tellPersonality])],
    asking: 'with another value than Linux, Linux without random addresses, or a question',
    answer: 'EPERM',
    reason: 'other personalities switch off memory protection',
    test: 'unusual personalities are refused',
  },
  // SECURITY: entering another namespace.
  {
    calls: ['setns'],
    answer: 'EPERM',
    reason: 'the guest stays in the namespaces it was given',
    test: 'another namespace cannot be entered',
  },
  // SECURITY: before Linux 4.8 a tracer could change a call after the filter had seen it, and these calls have been a
  // way into the kernel often. Not a boundary between processes of one guest: /proc/PID/mem stays open to the same user;
  // the outside is hidden by the pid namespace. The price: gdb, strace and LeakSanitizer do not run.
  {
    calls: ['ptrace', 'process_vm_readv', 'process_vm_writev', 'kcmp', 'pidfd_getfd'],
    answer: 'EPERM',
    reason: 'a tracer could change calls that the filter has passed on old kernels; debuggers do not run',
    test: 'the calls that trace and read other processes are refused',
  },
]
