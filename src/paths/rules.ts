// Protected names and hidden paths, as questions about guest paths. Pure text: the walk asks with the
// path that is left when every link has been resolved, and held.ts adds the same rules by identity.
import { join } from 'node:path'
import { GloveboxError } from '../errors/error.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import { foldName, startsWithNames } from './fold.ts'
import { parseGuestPath, segmentsOf } from './guest.ts'

export interface PathRule {
  /** As it was written: `.git/hooks`, `/workspace/secrets`. */
  readonly written: string
  readonly path: GuestPath
  readonly folded: readonly string[]
}

export interface PathRules {
  readonly denied: readonly PathRule[]
  readonly protected: readonly PathRule[]
}

const rule = (written: string, path: GuestPath): PathRule => ({ written, path, folded: segmentsOf(path).map(foldName) })

/** Protected names count below the root of every writable mount, also where a nested mount serves the path. */
export function compileRules(options: {
  readonly mounts: readonly Mount[]
  readonly protect: readonly string[]
  readonly denyRead: readonly string[]
}): PathRules {
  for (const name of options.protect) checkProtectedName(name)
  const denied = options.denyRead.map((text) => rule(text, parseGuestPath(text)))
  let compiled: readonly PathRule[] | undefined
  return {
    denied,
    // A sandbox that only runs commands never asks.
    get protected() {
      compiled ??= protectedRules(options.mounts, options.protect)
      return compiled
    },
  }
}

function protectedRules(mounts: readonly Mount[], protect: readonly string[]): readonly PathRule[] {
  const writable = mounts.filter((mount) => mount.mode === 'rw')
  return writable.flatMap((mount) =>
    writable
      .filter((other) => overlap(mount.hostPath, other.hostPath))
      .flatMap((other) => protect.flatMap((name) => seenFrom(mount, other, name))),
  )
}

const overlap = (one: string, other: string): boolean =>
  `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)

// SECURITY: what is protected below one mount may be shown by another one under another path.
// test/attacks/persistence: "a second mount of the same directory does not open what the first protects"
function seenFrom(mount: Mount, other: Mount, name: string): readonly PathRule[] {
  const place = join(other.hostPath, name)
  const below = place.slice(mount.hostPath.length + 1)
  return place.startsWith(`${mount.hostPath}/`) ? [rule(name, parseGuestPath(`./${below}`, mount.guestPath))] : []
}

function checkProtectedName(name: string): void {
  const names = name.split('/').filter((part) => part !== '' && part !== '.')
  if (names.length === 0 || name.startsWith('/') || names.includes('..')) {
    throw new GloveboxError('INVALID_INPUT', `Cannot protect ${JSON.stringify(name)}: it is not a name below a mount`, {
      hint: 'Give a relative path without "..", such as .git/hooks.',
    })
  }
}

/** The rule that covers `path`: the path is the rule's own, or lies below it. */
export function ruleAt(rules: readonly PathRule[], path: GuestPath): PathRule | undefined {
  const names = segmentsOf(path).map(foldName)
  return rules.find((candidate) => startsWithNames(names, candidate.folded))
}

/** A rule that would be carried along if `path` were moved or removed: the rule's path lies below it. */
export function ruleBelow(rules: readonly PathRule[], path: GuestPath): PathRule | undefined {
  const names = segmentsOf(path).map(foldName)
  return rules.find((candidate) => candidate.folded.length > names.length && startsWithNames(candidate.folded, names))
}
