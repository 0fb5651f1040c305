// The few kernel calls that Node has no door to, through koffi. Only a launcher that was started by root needs
// them, so koffi is optional.
import { closeSync } from 'node:fs'
import { findKoffi } from '../../../process/koffi.ts'

export interface Native {
  /** A mount namespace for the calling thread alone; its mounts do not reach the host's. */
  leaveHostMounts(): void
  mountTmpfs(target: string): void
  /** A detached copy of the mount at this descriptor, seen with other owners, without setuid and devices. */
  cloneWithOwners(descriptor: number, userNamespace: number): number
  attach(detached: number, target: string): void
  /** Lays what is at this path over itself, so that it can be neither changed nor moved nor removed. Follows no link at its end. */
  holdReadOnly(path: string): void
  detach(target: string): void
  /** Paths without colon, comma and backslash, which separate options. */
  mountOverlay(target: string, layers: OverlayLayers): void
}

export interface OverlayLayers {
  /** Nearest first. */
  readonly lower: readonly string[]
  readonly upper: string
  /** On the same mount as `upper`. */
  readonly work: string
}

const unshareMounts = 0x00020000
const unshareFilesystemState = 0x00000200
const recursiveSlave = 0x4000 | (1 << 19)
const atCurrentDirectory = -100
const atEmptyPath = 0x1000
const openTreeClone = 1
const openTreeCloseOnExec = 0o2000000
const moveFromEmptyPath = 0x4
const detachLazily = 2
const noSetuid = 0x2
const noDevices = 0x4
const atNoFollow = 0x100
const attributeIdMap = 0x00100000n
const attributeReadOnly = 0x1n
const attributeNoSetuid = 0x2n
const attributeNoDevices = 0x4n
// These numbers are the same on every architecture: they came after the tables were unified.
const call = { openTree: 428, moveMount: 429, mountSetattr: 442 } as const

type Call = (...values: readonly unknown[]) => number | bigint

export function loadNative(): Native {
  const koffi = findKoffi()
  if (koffi === undefined) throw new Error('koffi is not installed')
  const libc = koffi.load(null)
  const unshare: Call = libc.func('int unshare(int flags)')
  const mount: Call = libc.func(
    'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
  )
  const umount: Call = libc.func('int umount2(const char *target, int flags)')
  const syscall: Call = libc.func('long syscall(long number, ...)')

  const check = (what: string, result: number | bigint): number => {
    if (Number(result) >= 0) return Number(result)
    const number = koffi.errno()
    const name = Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? String(number)
    throw Object.assign(new Error(`${what}: ${name}`), { code: name })
  }

  const openTree = (directory: number, path: string, how: number): number => {
    const flags = openTreeClone | openTreeCloseOnExec | how
    return check('open_tree', syscall(call.openTree, 'int', directory, 'str', path, 'uint', flags))
  }
  const setAttributes = (tree: number, attributes: Uint8Array): void =>
    void check(
      'mount_setattr',
      syscall(call.mountSetattr, 'int', tree, 'str', '', 'uint', atEmptyPath, 'void *', attributes, 'size_t', 32),
    )
  const attach = (detached: number, target: string): void =>
    void check(
      'move_mount',
      syscall(
        call.moveMount,
        'int',
        detached,
        'str',
        '',
        'int',
        atCurrentDirectory,
        'str',
        target,
        'uint',
        moveFromEmptyPath,
      ),
    )
  const heldAttributes = Buffer.alloc(32)
  heldAttributes.writeBigUInt64LE(attributeReadOnly | attributeNoSetuid | attributeNoDevices, 0)

  return {
    leaveHostMounts() {
      check('unshare', unshare(unshareFilesystemState | unshareMounts))
      // Slave, not private: what the host mounts later is still seen, what we mount never gets out.
      check('mount slave', mount('none', '/', null, recursiveSlave, null))
    },
    mountTmpfs: (target) => void check('mount tmpfs', mount('tmpfs', target, 'tmpfs', 0x2 | 0x4, 'mode=755,size=1m')),
    cloneWithOwners(descriptor, userNamespace) {
      const tree = openTree(descriptor, '', atEmptyPath)
      const attributes = Buffer.alloc(32)
      // SECURITY: nosuid and nodev hold for every use of the copy. test/attacks/files: "a setuid file in the workspace gives nothing"
      attributes.writeBigUInt64LE(attributeIdMap | attributeNoSetuid | attributeNoDevices, 0)
      attributes.writeBigUInt64LE(BigInt(userNamespace), 24)
      setAttributes(tree, attributes)
      return tree
    },
    attach,
    holdReadOnly(path) {
      const tree = openTree(atCurrentDirectory, path, atNoFollow)
      try {
        setAttributes(tree, heldAttributes)
        attach(tree, path)
      } finally {
        closeSync(tree)
      }
    },
    mountOverlay(target, { lower, upper, work }) {
      // Renamed directories leave a note in the upper layer instead of failing; everything else stays as a file system that
      // is looked at without this mount must find it.
      const rest = 'redirect_dir=on,index=off,metacopy=off,xino=off'
      const options = `lowerdir=${lower.join(':')},upperdir=${upper},workdir=${work},${rest}`
      // SECURITY: as for the copies of single mounts. test/attacks/layers: "a setuid file in a lower layer gives nothing"
      check('mount overlay', mount('overlay', target, 'overlay', noSetuid | noDevices, options))
    },
    detach: (target) => void check('umount2', umount(target, detachLazily)),
  }
}
