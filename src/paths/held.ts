// Hidden and protected things by identity. A guest that may rename a directory above one of them gives
// it a new path, to which no rule by name applies; the inode stays the same. A descriptor is kept on each,
// so that the number cannot be given to another file.
import { closeSync, type BigIntStats } from 'node:fs'
import { isGloveboxError } from '../errors/error.ts'
import { isWaypoint, walk, type Arrival, type Reach } from './contain.ts'
import { statsInside } from './descriptor.ts'
import { asRefusal } from './refusal.ts'
import type { PathRule } from './rules.ts'

export interface Held {
  denies(stats: BigIntStats): boolean
  protects(stats: BigIntStats): PathRule | undefined
  close(): void
}

export const nothingHeld: Held = { denies: () => false, protects: () => undefined, close: () => {} }

const identity = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`

/** Takes hold of what the rules name at this moment, before the guest has run. */
// SECURITY: `mv secrets s2` does not unmask. test/attacks/host-paths: "a hidden directory stays hidden under another name"
export function holdRules(reach: Omit<Reach, 'held'>): Held {
  const descriptors: number[] = []
  const denied = new Set<string>()
  const protectedAs = new Map<string, PathRule>()
  const bare: Reach = { ...reach, rules: { denied: [], protected: [] }, held: nothingHeld }
  const close = (): void => {
    for (const fd of descriptors.splice(0)) closeSync(fd)
  }
  const hold = (rule: PathRule, keep: (key: string) => void): void => {
    const found = findRule(bare, rule)
    if (found?.leaf === undefined || found.parent === undefined) return found?.close()
    descriptors.push(found.leaf.fd)
    keep(identity(found.leaf.stats))
    found.closeParent()
  }
  try {
    for (const rule of reach.rules.denied) hold(rule, (key) => denied.add(key))
    for (const rule of reach.rules.protected) hold(rule, (key) => protectedAs.set(key, rule))
  } catch (error) {
    close()
    throw error
  }
  return {
    denies: (stats) => denied.size > 0 && denied.has(identity(stats)),
    protects: (stats) => (protectedAs.size > 0 ? protectedAs.get(identity(stats)) : undefined),
    close,
  }
}

/** What cannot be reached from inside the mounts has no identity to hold; the rule by name stands alone. */
function findRule(reach: Reach, rule: PathRule): Arrival | undefined {
  if (isPlainlyAbsent(reach, rule)) return undefined
  const asked = { verb: 'protect', path: rule.path }
  try {
    const place = walk(reach, { ...asked, followLeaf: true })
    return isWaypoint(place) ? undefined : place
  } catch (error) {
    const refused = asRefusal(error, asked)
    if (isGloveboxError(refused) && refused.code !== 'INTERNAL' && refused.code !== 'BUSY') return undefined
    throw refused
  }
}

/** Most protected names are not there; one look that throws nothing keeps the start of a sandbox quick. */
function isPlainlyAbsent(reach: Reach, rule: PathRule): boolean {
  const located = reach.table.locate(rule.path)
  const first = located?.segments[0]
  return located !== undefined && first !== undefined && statsInside(reach.root(located.mount).fd, first) === undefined
}

/** The same, made at the first question. */
export function whenAsked(hold: () => Held): Held {
  let made: Held | undefined
  const held = (): Held => (made ??= hold())
  return {
    denies: (stats) => held().denies(stats),
    protects: (stats) => held().protects(stats),
    close: () => made?.close(),
  }
}
