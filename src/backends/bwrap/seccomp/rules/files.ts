// Rules for calls that give a file its mode or its kind.
import { anyBit, oneOf, type Rule } from '../rule.ts'

const createFlags = 0o100 | 0o20000000 // O_CREAT, __O_TMPFILE; without one of them the kernel ignores the mode
const setIdBits = 0o6000 // S_ISUID, S_ISGID
const fileKindMask = 0o170000
const deviceKinds = [0o020000, 0o060000] // S_IFCHR, S_IFBLK

// The guest's files in a mount belong to the owner of the host directory, which is root where root started Glovebox.
// no_new_privs keeps the guest itself from profiting; any other user of the host would.
const setIdReason = 'in a mount it would be a set-id file of the host, owned by whoever owns the directory, even root'

export const fileRules: readonly Rule[] = [
  // SECURITY: open(2) sets the mode of a new file, so a filter on chmod alone is passed by creating the file set-id.
  {
    calls: ['openat'],
    when: [anyBit(2, createFlags), anyBit(3, setIdBits)],
    asking: 'creating a file with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a file cannot be created with a set-id bit',
  },
  {
    calls: ['open'],
    when: [anyBit(1, createFlags), anyBit(2, setIdBits)],
    asking: 'creating a file with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a file cannot be created with a set-id bit',
  },
  {
    calls: ['creat'],
    when: [anyBit(1, setIdBits)],
    asking: 'creating a file with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a file cannot be created with a set-id bit',
  },
  // SECURITY: flags and mode lie in a struct that a filter cannot read; callers fall back to openat, which is read.
  {
    calls: ['openat2'],
    answer: 'ENOSYS',
    reason: 'its mode lies in memory that a filter cannot read, so it could create a set-id file',
    test: 'openat2 is not there, so its struct cannot carry a set-id mode',
  },
  // SECURITY: the plain way to plant a set-id file. A directory with set-group-id is refused too: a filter sees no path.
  {
    calls: ['chmod', 'fchmod'],
    when: [anyBit(1, setIdBits)],
    asking: 'with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a file cannot be given a set-id bit',
  },
  {
    calls: ['fchmodat', 'fchmodat2'],
    when: [anyBit(2, setIdBits)],
    asking: 'with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a file cannot be given a set-id bit',
  },
  // SECURITY: mknod makes regular files too, with the mode it is given.
  {
    calls: ['mknod'],
    when: [anyBit(1, setIdBits)],
    asking: 'with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a node cannot be made with a set-id bit',
  },
  {
    calls: ['mknodat'],
    when: [anyBit(2, setIdBits)],
    asking: 'with a set-id bit',
    answer: 'EPERM',
    reason: setIdReason,
    test: 'a node cannot be made with a set-id bit',
  },
  // SECURITY: a device node in a mount is a device for whoever opens it on the host.
  {
    calls: ['mknod'],
    when: [oneOf(1, deviceKinds, fileKindMask)],
    asking: 'for a device',
    answer: 'EPERM',
    reason: 'a device node in a workspace would be a device on the host',
    test: 'a device node cannot be made',
  },
  {
    calls: ['mknodat'],
    when: [oneOf(2, deviceKinds, fileKindMask)],
    asking: 'for a device',
    answer: 'EPERM',
    reason: 'a device node in a workspace would be a device on the host',
    test: 'a device node cannot be made',
  },
]
