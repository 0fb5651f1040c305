// Where a symlink leads, in the guest's own view: an absolute target is a guest path, a relative one
// counts from the link's directory. The answer is only a list of names to be walked by descriptor again.
import type { Question } from './refusal.ts'
import { refusal } from './refusal.ts'

/** The kernel's own bound (MAXSYMLINKS). */
export const maxHops = 40

/** Names still to be walked from `/`. May contain `..`, which counts from the real directory that is reached. */
export interface Route {
  readonly names: readonly string[]
  /** So many of the names were written in links: all of them must exist, none is created. */
  readonly fromLinks: number
}

/** Replaces the link at `index` of the route by what is written in it. */
export function throughLink(route: Route, index: number, target: string): Route {
  const written = target.split('/').filter((name) => name !== '' && name !== '.')
  const head = target.startsWith('/') ? [] : route.names.slice(0, index)
  const stillFromLinks = Math.max(0, route.fromLinks - (index + 1))
  return {
    names: [...head, ...written, ...route.names.slice(index + 1)],
    fromLinks: head.length + written.length + stillFromLinks,
  }
}

/** Takes back one step: `index` holds `..`, and all names before it are real directories. */
export function upwards(route: Route, index: number): Route {
  const kept = Math.max(0, index - 1)
  return {
    names: [...route.names.slice(0, kept), ...route.names.slice(index + 1)],
    fromLinks: Math.max(kept, route.fromLinks - (index + 1 - kept)),
  }
}

export const linkRefused = (asked: Question, cause: string): Error =>
  refusal('LINK_REFUSED', asked, cause, { hint: 'Use the path of the file itself, inside a mount.' })
