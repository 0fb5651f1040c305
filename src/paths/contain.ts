// The walk: from a mount's root, component by component, each one looked up in the directory that was
// opened before it. It promises that what it hands over lies inside a mount, whatever the guest renames
// or links meanwhile, and that no descriptor stays open when it refuses. It knows nothing of reading or
// writing. Nobody in Glovebox reaches a guest's file in any other way.
import { closeSync } from 'node:fs'
import type { GuestPath, Mount } from '../contract/mount.ts'
import { again, findInside, linkInside, type Opened } from './descriptor.ts'
import { fromSegments, segmentsOf } from './guest.ts'
import type { Held } from './held.ts'
import { ownerMay, type Owner } from './owner.ts'
import { linkRefused, maxHops, throughLink, upwards, type Route } from './links.ts'
import { refusal, type Question } from './refusal.ts'
import { ruleAt, type PathRule, type PathRules } from './rules.ts'
import type { MountTable } from './table.ts'

export interface MountRoot extends Opened {
  readonly mount: Mount
  /** To whom new files belong. */
  readonly owner: Owner | undefined
}

/** Everything that a walk may touch. */
export interface Reach {
  readonly table: MountTable
  readonly rules: PathRules
  readonly held: Held
  root(mount: Mount): MountRoot
}

export interface WalkOptions extends Question {
  /** Resolve a symlink that is the last component. Those before it are always resolved. */
  readonly followLeaf: boolean
}

/** Where a walk ended. Descriptors stay open until `close`. */
export interface Arrival {
  readonly mount: Mount
  readonly owner: Owner | undefined
  /** The guest path without links. */
  readonly path: GuestPath
  /** The deepest directory that exists on the way; undefined when the path is a mount's root. */
  readonly parent: Opened | undefined
  /** Names below `parent` that are yet to be found or made: the leaf's, and those of missing directories before it. */
  readonly names: readonly [string, ...string[]] | readonly []
  /** What has the name, as it was met. */
  readonly leaf: Opened | undefined
  readonly viaLink: boolean
  /** The end of a link is missing. Such a path is never created. */
  readonly dangling: boolean
  /** A protected thing was passed or reached under whatever name it has now. */
  readonly protectedAs: PathRule | undefined
  /** Leaves the leaf's descriptor to the caller. */
  closeParent(): void
  close(): void
}

/** A directory that no mount holds, but that leads to mounts: `/`, `/mnt`. */
export interface Waypoint {
  readonly waypoint: GuestPath
}

export const isWaypoint = (place: Arrival | Waypoint): place is Waypoint => 'waypoint' in place

export function walk(reach: Reach, options: WalkOptions): Arrival | Waypoint {
  let route: Route = { names: segmentsOf(options.path), fromLinks: 0 }
  for (let hops = 0; hops <= maxHops; hops++) {
    const outcome = walkRoute(reach, route, options, hops > 0)
    if (!('fromLinks' in outcome)) return outcome
    route = outcome
  }
  throw linkRefused(options, 'it leads through too many links')
}

/** One attempt along a route: an end, or another route because a link or `..` was met. */
function walkRoute(reach: Reach, route: Route, options: WalkOptions, viaLink: boolean): Arrival | Waypoint | Route {
  const stop = route.names.indexOf('..')
  const clear = fromSegments(stop === -1 ? route.names : route.names.slice(0, stop))
  const denied = ruleAt(reach.rules.denied, clear)
  if (denied !== undefined) throw hidden(options)
  const located = reach.table.locate(clear)
  if (located !== undefined) return new Walker(reach, route, options, viaLink, located.mount).run()
  if (reach.table.nestedNames(clear).length === 0) throw outside(reach, options, viaLink)
  return stop === -1 ? { waypoint: clear } : upwards(route, stop)
}

class Walker {
  readonly #reach: Reach
  readonly #route: Route
  readonly #options: WalkOptions
  readonly #viaLink: boolean
  readonly #root: MountRoot
  #directory: Opened
  #protectedAs: PathRule | undefined

  constructor(reach: Reach, route: Route, options: WalkOptions, viaLink: boolean, mount: Mount) {
    this.#reach = reach
    this.#route = route
    this.#options = options
    this.#viaLink = viaLink
    this.#root = reach.root(mount)
    // The root's own descriptor is closed with the sandbox, and its number given to another file, while slow
    // work still goes on here.
    this.#directory = again(this.#root)
  }

  run(): Arrival | Route {
    try {
      return this.#walkNames()
    } catch (error) {
      closeSync(this.#directory.fd)
      throw error
    }
  }

  #walkNames(): Arrival | Route {
    const { names } = this.#route
    const first = segmentsOf(this.#root.mount.guestPath).length
    for (let index = first; index < names.length; index++) {
      const outcome = this.#step(index)
      if (outcome !== undefined) return outcome
    }
    return this.#arrive(names.length, undefined, this.#directory)
  }

  #step(index: number): Arrival | Route | undefined {
    const { names } = this.#route
    const name = names[index] as string
    if (name === '..') return this.#reroute(upwards(this.#route, index))
    const found = findInside(this.#directory.fd, name)
    if (found === undefined) return this.#arrive(index, this.#directory, undefined)
    try {
      return this.#enter(index, found)
    } catch (error) {
      closeSync(found.fd)
      throw error
    }
  }

  #enter(index: number, found: Opened): Arrival | Route | undefined {
    const last = index === this.#route.names.length - 1
    if (this.#reach.held.denies(found.stats)) throw hidden(this.#options)
    this.#protectedAs ??= this.#reach.held.protects(found.stats)
    if (found.stats.isSymbolicLink() && (!last || this.#options.followLeaf)) return this.#follow(index, found)
    if (last) return this.#arrive(index, this.#directory, found)
    if (!found.stats.isDirectory())
      throw refusal('NOT_A_DIRECTORY', this.#options, 'a part of the path is not a directory')
    if (!ownerMay(this.#root.owner, found.stats, 'enter')) throw notTheOwners(this.#options)
    closeSync(this.#directory.fd)
    this.#directory = found
    return undefined
  }

  // SECURITY: the target is read by name and may have been swapped since; it is only ever a list of names
  // for another walk from a mount's root, so a lie leads nowhere else. test/attacks/symlink-race: "no try leaks"
  #follow(index: number, found: Opened): Route {
    // What is written in a vault's link is content of the vault.
    if (this.#root.mount.mode === 'vault') throw linkRefused(this.#options, 'it leads through a link in a vault')
    const target = linkInside(this.#directory.fd, this.#route.names[index] as string)
    closeSync(found.fd)
    return this.#reroute(target === undefined ? this.#route : throughLink(this.#route, index, target))
  }

  #reroute(route: Route): Route {
    closeSync(this.#directory.fd)
    return route
  }

  #arrive(index: number, parent: Opened | undefined, leaf: Opened | undefined): Arrival {
    const { names, fromLinks } = this.#route
    const rest = names.slice(index)
    if (rest.includes('..')) throw refusal('NOT_FOUND', this.#options, 'nothing is there')
    return {
      mount: this.#root.mount,
      owner: this.#root.owner,
      path: fromSegments(names),
      parent,
      names: rest as [string, ...string[]] | [],
      leaf,
      viaLink: this.#viaLink,
      dangling: leaf === undefined && index < fromLinks,
      protectedAs: this.#protectedAs,
      closeParent: () => closeIfOpen(parent),
      close: () => {
        closeIfOpen(parent)
        closeIfOpen(leaf)
      },
    }
  }
}

function closeIfOpen(opened: Opened | undefined): void {
  if (opened !== undefined) closeSync(opened.fd)
}

/** The same answer as the guest's own command would get. */
export const notTheOwners = (asked: Question): Error =>
  refusal('NOT_PERMITTED', asked, 'the owner of the mount has no right to it')

const hidden = (asked: Question): Error => refusal('NOT_PERMITTED', asked, 'the policy hides this path')

function outside(reach: Reach, asked: Question, viaLink: boolean): Error {
  if (viaLink) return linkRefused(asked, 'it leads through a link that leaves the mounts')
  const mounts = reach.table.mounts.map((mount) => mount.guestPath).toSorted()
  return refusal('OUTSIDE_MOUNTS', asked, 'it lies outside every mount', {
    hint: mounts.length === 0 ? 'This sandbox has no mounts.' : `The mounts are: ${mounts.join(', ')}.`,
  })
}
