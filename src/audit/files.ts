// The files of a log, and the two ways in which they change: a whole file appears by rename, or bytes are added to its end.
// Promises that what it reports as durable is on disk, and that what it could not write whole is taken back.
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { HostPath } from '../contract/mount.ts'
import { isErrno } from '../paths/refusal.ts'

export interface AuditPlace {
  /** What may be copied and verified elsewhere: segments, heads, public key. */
  readonly directory: HostPath
  /** The private key's own directory, outside of what is copied. */
  readonly keyDirectory: HostPath
}

export const segmentName = (segment: number): string => `segment-${String(segment).padStart(6, '0')}.jsonl`
export const segmentPath = (place: AuditPlace, segment: number): string => join(place.directory, segmentName(segment))
export const headsPath = (place: AuditPlace): string => join(place.directory, 'heads.jsonl')
export const publicKeyPath = (place: AuditPlace): string => join(place.directory, 'public-key.pem')
export const privateKeyPath = (place: AuditPlace): string => join(place.keyDirectory, 'audit.pem')
export const reservePath = (place: AuditPlace): string => join(place.directory, 'reserve')
export const tornDirectory = (place: AuditPlace): string => join(place.directory, 'torn')
export const lockDirectory = (place: AuditPlace): HostPath => join(place.directory, 'lock') as HostPath

export function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export function readFrom(path: string, offset: number, most: number): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(Math.max(0, Math.min(most, fstatSync(descriptor).size - offset)))
    let filled = 0
    while (filled < bytes.length) {
      const count = readSync(descriptor, bytes, filled, bytes.length - filled, offset + filled)
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  } finally {
    closeSync(descriptor)
  }
}

/** Nobody ever sees the file half written, nor after a power cut an empty one. */
export function placeFile(path: string, bytes: Uint8Array): void {
  const fresh = `${path}.new`
  try {
    // A leftover of a killed process may be there; only the lock's holder comes here.
    const descriptor = openSync(fresh, 'w', 0o600)
    try {
      writeFileSync(descriptor, bytes)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(fresh, path)
  } catch (error) {
    removeIfThere(fresh)
    throw error
  }
  syncDirectory(dirname(path))
}

export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

export const syncData = promisify(fdatasync)

/** `refused`: the file is as before. `uncertain`: nobody knows what it holds. */
export type Written = 'written' | { readonly refused: unknown } | { readonly uncertain: unknown }
export type Added = 'durable' | Exclude<Written, 'written'>

/** For adding at the end, which the caller knows to be where it writes. */
export const openEnd = (path: string): number => openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW)

/** At once: it goes to memory, and a trip through the pool of threads takes longer. Only the disk is waited for. */
export function writeAt(descriptor: number, at: number, bytes: Uint8Array): Written {
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done, bytes.length - done, at + done)
    return 'written'
  } catch (refused) {
    try {
      ftruncateSync(descriptor, at)
    } catch (uncertain) {
      return { uncertain }
    }
    return { refused }
  }
}

/**
 * Adds bytes at the end and waits for the disk. After a failed sync the kernel may have dropped the pages and marked them
 * clean, so a second sync that succeeds would prove nothing; only reading everything again can tell.
 */
export async function addBytes(path: string, at: number, bytes: Uint8Array): Promise<Added> {
  const descriptor = openEnd(path)
  try {
    const written = writeAt(descriptor, at, bytes)
    if (written !== 'written') return written
    await syncData(descriptor)
    return 'durable'
  } catch (uncertain) {
    return { uncertain }
  } finally {
    closeSync(descriptor)
  }
}
