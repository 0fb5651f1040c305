// Extended attributes, and the one kind of device that overlayfs uses as a sign. Node has a door to neither, so they are
// reached through koffi, which is optional: whoever asks is told when it is missing, and never that there is nothing.
import { findKoffi } from './koffi.ts'

export interface Attributes {
  /** Of what lies at the path, following links; undefined when it has no such attribute. */
  get(path: string | Buffer, name: string): Buffer | undefined
  /** The device 0:0, which overlayfs reads as "nothing is here". */
  makeWhiteout(path: string | Buffer): void
}

type Call = (...values: readonly unknown[]) => number | bigint

const largestValue = 64 * 1024
const characterDevice = 0o020000
const atCurrentDirectory = -100

/** Undefined without koffi. */
export function openAttributes(): Attributes | undefined {
  const koffi = findKoffi()
  if (koffi === undefined) return undefined
  const libc = koffi.load(null)
  const getxattr: Call = libc.func('long getxattr(const void *path, const char *name, void *value, size_t size)')
  const syscall: Call = libc.func('long syscall(long number, ...)')
  // mknod became a function of its own only in glibc 2.33.
  const mknodat = process.arch === 'arm64' ? 33 : 259
  const value = Buffer.alloc(largestValue)
  const fault = (what: string): Error => {
    const number = koffi.errno()
    const code = Object.entries(koffi.os.errno).find(([, each]) => each === number)?.[0] ?? String(number)
    return Object.assign(new Error(`${code}: ${what}`), { code, syscall: what })
  }
  return {
    get(path, name) {
      const length = Number(getxattr(terminated(path), name, value, value.length))
      if (length >= 0) return Buffer.from(value.subarray(0, length))
      if (koffi.errno() === koffi.os.errno['ENODATA']) return undefined
      throw fault('getxattr')
    },
    makeWhiteout(path) {
      const made = syscall(
        mknodat,
        'int',
        atCurrentDirectory,
        'void *',
        terminated(path),
        'uint',
        characterDevice,
        'uint',
        0,
      )
      if (Number(made) < 0) throw fault('mknodat')
    },
  }
}

/** A name on disk need not be UTF-8, so it goes as bytes. */
const terminated = (path: string | Buffer): Buffer => Buffer.concat([Buffer.from(path), Buffer.from([0])])
