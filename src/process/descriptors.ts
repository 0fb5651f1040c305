// Which of our descriptors would a child inherit? Node marks its own close-on-exec; those that our parent
// left open, or that a native library opened carelessly, are not marked.
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { findKoffi } from './koffi.ts'

const closeOnExec = 0o2000000
const getDescriptorFlags = 1
const setDescriptorFlags = 2
const descriptorCloseOnExec = 1

/** Answers the descriptors of 3 and up that a child would inherit, ascending; empty where there is no /proc. */
export function createDescriptorWatch(): () => readonly number[] {
  const koffi = findKoffi()
  if (koffi === undefined) return watchThroughFiles()
  const fcntl = koffi.load(null).func('int fcntl(int descriptor, int command)')
  // A number below zero: closed since the listing, as the listing's own descriptor is.
  const isInheritable = (descriptor: number): boolean => {
    const flags = fcntl(descriptor, getDescriptorFlags) as number
    return flags >= 0 && (flags & descriptorCloseOnExec) === 0
  }
  return () =>
    openDescriptors()
      .map(Number)
      .filter(isInheritable)
      .sort((a, b) => a - b)
}

/** Marks a descriptor that was opened without the mark. Undefined where koffi is not installed. */
export function loadCloseOnExec(): ((descriptor: number) => void) | undefined {
  const fcntl = findKoffi()?.load(null).func('int fcntl(int descriptor, int command, ...)')
  if (fcntl === undefined) return undefined
  return (descriptor) => void fcntl(descriptor, setDescriptorFlags, 'int', descriptorCloseOnExec)
}

/** Where koffi is not installed. Asking costs 10 µs a descriptor, so the answer is kept for the same thing under the same number.
 * SECURITY: not for directories, since a number may be given anew to the same directory by somebody more careless.
 * test/attacks/descriptors: "a descriptor that a library of the host leaves open does not reach the guest" */
function watchThroughFiles(): () => readonly number[] {
  let known = new Map<string, boolean>()
  return () => {
    const now = new Map<string, boolean>()
    const exposed: number[] = []
    for (const descriptor of openDescriptors()) {
      const key = identityOf(descriptor)
      const inheritable = (key === undefined ? undefined : known.get(key)) ?? isInheritable(descriptor)
      if (key !== undefined) now.set(key, inheritable)
      if (inheritable) exposed.push(Number(descriptor))
    }
    known = now
    return exposed.sort((a, b) => a - b)
  }
}

/** Undefined: not to be remembered. */
function identityOf(descriptor: string): string | undefined {
  try {
    const seen = fstatSync(Number(descriptor))
    return seen.isDirectory() ? undefined : `${descriptor}:${seen.dev}:${seen.ino}`
  } catch {
    return undefined
  }
}

function openDescriptors(): readonly string[] {
  try {
    return readdirSync('/proc/self/fd').filter((name) => Number(name) > 2)
  } catch {
    return []
  }
}

function isInheritable(descriptor: string): boolean {
  let info: number
  try {
    info = openSync(`/proc/self/fdinfo/${descriptor}`, 'r')
  } catch {
    // Closed since the listing: it was the listing's own descriptor.
    return false
  }
  try {
    const text = Buffer.alloc(256)
    const length = readSync(info, text, 0, text.length, 0)
    const flags = /^flags:\s*([0-7]+)/m.exec(text.toString('latin1', 0, length))
    return flags?.[1] !== undefined && (Number.parseInt(flags[1], 8) & closeOnExec) === 0
  } catch (error) {
    // Closed since, by another thread: between our opening and our reading.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  } finally {
    closeSync(info)
  }
}
