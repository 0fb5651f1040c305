// Emptying a directory by descriptor. The guest may move, link and create while it is done; every step
// looks up one name in a directory that is held, so nothing outside the tree is ever touched.
import { randomBytes } from 'node:crypto'
import { closeSync, opendirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { findInside, hostMountOf, inside, itself, type Opened } from './descriptor.ts'
import type { Held } from './held.ts'
import { openUp } from './owner.ts'
import { isErrno, refusal, type Question } from './refusal.ts'
import { temporaryPrefix } from './replace.ts'

const namesPerPass = 1024
const removalsPerTurn = 256
// A guest that creates as fast as we remove must not keep us forever.
const maxPasses = 100_000
// One descriptor is open per level. What lies deeper is first moved up to the top.
const maxDepth = 32

export interface Emptying {
  readonly held: Held
  readonly asked: Question
  /** What is ours in it, and closed to us, is opened. Only where the guest that owned it has ended. */
  readonly opensUp?: boolean
}

interface Clearing extends Emptying {
  readonly top: Opened
  readonly hostMount: string | undefined
}

export async function emptyDirectory(top: Opened, options: Emptying): Promise<void> {
  let removals = 0
  for (const _ of emptying(top, options)) if (++removals % removalsPerTurn === 0) await setImmediate()
}

/** For those who cannot wait. */
export function emptyDirectoryAtOnce(top: Opened, options: Emptying): void {
  const steps = emptying(top, options)
  while (steps.next().done !== true);
}

function* emptying(top: Opened, options: Emptying): Generator<void> {
  if (options.opensUp === true) openUp(top)
  yield* clear(top, { top, hostMount: hostMountOf(top.fd), ...options }, 0)
}

/** Each step is one name. */
function* clear(directory: Opened, clearing: Clearing, depth: number): Generator<void> {
  for (let pass = 0; pass < maxPasses; pass++) {
    const names = someNames(directory)
    if (names.length === 0) return
    for (const name of names) {
      yield
      if (!unlinked(directory, name)) yield* removeChild(directory, name, clearing, depth)
    }
  }
  throw refusal('NOT_EMPTY', clearing.asked, 'new files keep appearing in it')
}

function someNames(directory: Opened): Buffer[] {
  const listing = opendirSync(itself(directory.fd), { encoding: 'latin1', bufferSize: namesPerPass })
  const names: Buffer[] = []
  try {
    for (let entry = listing.readSync(); entry !== null && names.length < namesPerPass; entry = listing.readSync()) {
      names.push(Buffer.from(entry.name, 'latin1'))
    }
    return names
  } finally {
    listing.closeSync()
  }
}

/** False if it is a directory, as far as the kernel's answer tells. */
function unlinked(directory: Opened, name: Buffer): boolean {
  try {
    unlinkSync(inside(directory.fd, name))
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true
    if (isErrno(error, 'EISDIR')) return false
    throw error
  }
}

function* removeChild(directory: Opened, name: Buffer, clearing: Clearing, depth: number): Generator<void> {
  const child = findInside(directory.fd, name)
  if (child === undefined) return
  try {
    // Swapped for something else meanwhile: the next pass meets it again.
    if (!child.stats.isDirectory()) return
    requirePlain(child, clearing)
    if (clearing.opensUp === true) openUp(child)
    if (depth >= maxDepth) return hoist(directory, name, clearing.top)
    yield* clear(child, clearing, depth + 1)
    removeEmpty(directory, name)
  } finally {
    closeSync(child.fd)
  }
}

function requirePlain(child: Opened, { held, hostMount, asked }: Clearing): void {
  if (held.denies(child.stats)) throw refusal('NOT_PERMITTED', asked, 'the policy hides something below it')
  const rule = held.protects(child.stats)
  if (rule !== undefined) throw refusal('PROTECTED', asked, `something below it is protected (${rule.written})`)
  if (hostMountOf(child.fd) !== hostMount)
    throw refusal('NOT_PERMITTED', asked, 'another filesystem is mounted below it')
}

const hoist = (directory: Opened, name: Buffer, top: Opened): void =>
  renameSync(inside(directory.fd, name), inside(top.fd, `${temporaryPrefix}${randomBytes(12).toString('hex')}`))

function removeEmpty(directory: Opened, name: Buffer): void {
  try {
    rmdirSync(inside(directory.fd, name))
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'ENOTEMPTY')) throw error
  }
}
