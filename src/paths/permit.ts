// May this operation be done at the place where the walk ended? Mode of the mount, protected names,
// mount points. Asked after every link is resolved, so a link gives no rights that its end does not have.
import { notTheOwners, type Arrival, type Reach } from './contain.ts'
import { linkRefused } from './links.ts'
import { ownerMay } from './owner.ts'
import { refusal, type Question } from './refusal.ts'
import { ruleAt, ruleBelow, type PathRule } from './rules.ts'

export function permitRead(place: Arrival, asked: Question): void {
  if (place.leaf !== undefined && !ownerMay(place.owner, place.leaf.stats, 'read')) throw notTheOwners(asked)
  if (place.mount.mode !== 'vault') return
  if (place.viaLink) throw linkRefused(asked, 'it leads through a link into a vault')
  throw vault(asked)
}

/** Content or a directory is to be made at the place. */
export function permitWrite(reach: Reach, place: Arrival, asked: Question): void {
  permitChange(reach, place, asked)
  // SECURITY: a file at `.git` would stand in for the protected `.git/hooks`. test/attacks/host-paths: "a file cannot take the place of a protected directory"
  const below = ruleBelow(reach.rules.protected, place.path)
  if (below !== undefined && !place.leaf?.stats.isDirectory()) throw protectedPath(asked, below)
}

export function permitMkdir(reach: Reach, place: Arrival, asked: Question): void {
  permitChange(reach, place, asked)
}

/** The thing at the place, with all below it, is to be moved, removed or replaced. */
// SECURITY: `mv .git x` must not carry a protected path away. test/attacks/host-paths: "an ancestor of a protected path cannot be renamed"
export function permitUproot(reach: Reach, place: Arrival, asked: Question): void {
  if (place.parent === undefined || reach.table.nestedNames(place.path).length > 0) {
    throw refusal('NOT_PERMITTED', asked, 'a mount is there or below it', {
      hint: 'A mount stays where the operator put it; change what is inside.',
    })
  }
  permitChange(reach, place, asked)
  const below = ruleBelow(reach.rules.protected, place.path)
  if (below !== undefined) throw protectedPath(asked, below)
  if (ruleBelow(reach.rules.denied, place.path) !== undefined) {
    throw refusal('NOT_PERMITTED', asked, 'the policy hides a path below it')
  }
}

function permitChange(reach: Reach, place: Arrival, asked: Question): void {
  const { mode } = place.mount
  if (mode !== 'rw' && place.viaLink)
    throw linkRefused(asked, `it leads through a link into a mount that is not writable`)
  if (mode === 'vault') throw vault(asked)
  if (mode === 'ro') {
    throw refusal('READ_ONLY', asked, 'the mount is read-only', { hint: 'Write to a mount with mode rw.' })
  }
  const rule = place.protectedAs ?? ruleAt(reach.rules.protected, place.path)
  if (rule !== undefined) throw protectedPath(asked, rule)
  if (place.dangling) throw linkRefused(asked, 'it leads through a link whose end does not exist')
  const { parent } = place
  if (parent !== undefined && !ownerMay(place.owner, parent.stats, 'write', 'enter')) throw notTheOwners(asked)
}

const vault = (asked: Question): Error =>
  refusal('VAULT', asked, 'it lies in a vault', {
    hint: 'Names in a vault can be listed; its values reach a command only when the policy grants them.',
  })

const protectedPath = (asked: Question, rule: PathRule): Error =>
  refusal('PROTECTED', asked, `the path is protected (${rule.written})`, {
    hint: 'The operator protects files that other programs trust. Ask the operator to make this change.',
    facts: { rule: `protected:${rule.written}` },
  })
