// Protected names of a writable mount, held by mounts laid over them: the name itself read-only, and each directory that leads
// to it pinned, since a directory that merely contains a mount point could be renamed away and made anew.
// What is missing is held by an empty placeholder. The host's owner may make, change or delete any of these names while a
// sandbox lives, so they are looked at again before every exec.
import { lstatSync } from 'node:fs'
import type { Mount } from '../contract/mount.ts'
import type { Guard } from './rule.ts'

export interface HeldName {
  readonly mount: Mount
  /** Below the mount's root: the name, or the first part of it that was missing. */
  readonly name: string
  readonly kind: 'file' | 'directory'
}

export interface GuardPlace {
  /** Where the mount's own files are found on the host. */
  readonly sourceOf: (mount: Mount) => string
  /** False where a deeper mount covers what this one shows. */
  readonly isInSight: (mount: Mount, guestPath: string) => boolean
}

/** Laid in this order: what leads to a name before the name. Each path once; nothing below a read-only one.
 * SECURITY: what leads to a deeper mount is pinned too, or the guest would move it and find below it, at the next exec, what
 * the mount covered. test/attacks/files: "a read-only mount inside a writable one cannot be uncovered by moving its parent" */
export function guardsFor(held: readonly HeldName[], { sourceOf, isInSight }: GuardPlace): readonly Guard[] {
  const rules = new Map<string, Guard>()
  for (const { mount, name } of held) {
    const parts = name.split('/')
    parts.forEach((_, index) => {
      const path = parts.slice(0, index + 1).join('/')
      const guestPath = `${mount.guestPath}/${path}`
      if (!isInSight(mount, guestPath)) return
      const rule = index === parts.length - 1 ? 'readonly' : 'pin'
      if (rules.get(guestPath)?.rule === 'readonly') return
      rules.set(guestPath, { guestPath, source: `${sourceOf(mount)}/${path}`, rule })
    })
  }
  const sealed = [...rules.values()].filter((guard) => guard.rule === 'readonly').map((guard) => `${guard.guestPath}/`)
  return [...rules.values()]
    .filter((guard) => !sealed.some((prefix) => guard.guestPath.startsWith(prefix)))
    .toSorted((a, b) => (a.guestPath < b.guestPath ? -1 : a.guestPath > b.guestPath ? 1 : 0))
}

/** SECURITY: a name that has become a link since would lead a mount astray (CVE-2026-87766), so it is not the same.
 * test/attacks/files: "a protected name that became a link is refused before the next exec" */
export const areStillHeld = (places: readonly HeldPlace[]): boolean =>
  places.every(({ path, kind }) => {
    const seen = lstatSync(path, { throwIfNoEntry: false })
    return (kind === 'directory' ? seen?.isDirectory() : seen?.isFile()) === true
  })

/** On the host: what must be there, and of which kind. */
export interface HeldPlace extends Pick<HeldName, 'kind'> {
  readonly path: string
}

/** The names and all that leads to them, each once, since each is looked at before every exec. */
export function placesOf(held: readonly HeldName[]): readonly HeldPlace[] {
  const places = held.flatMap(({ mount, name, kind }) => {
    const parts = name.split('/')
    return parts.map((_, index): HeldPlace => {
      const path = `${mount.hostPath}/${parts.slice(0, index + 1).join('/')}`
      return { path, kind: index < parts.length - 1 ? 'directory' : kind }
    })
  })
  // The same name held as both is never what it should be, and stays twice.
  return [...new Map(places.map((place) => [`${place.kind} ${place.path}`, place])).values()]
}
