// The order in which placeholders come to be: journal, temporary names, inodes into the journal, protected names.
// At whatever point it is cut off, the journal tells everything that may exist.
import { closeSync, fstatSync } from 'node:fs'
import { writeJournal, type Journal, type JournalEntry } from '../journal.ts'
import { giveName, makeTemporary, newTemporaryName, type Made, type Owner, type Target } from './make.ts'
import type { Located } from './walk.ts'

export interface Finding {
  readonly root: { readonly descriptor: number; readonly hostPath: string; readonly device?: string }
  readonly name: string
  readonly located: Located
}

export type LayStep = 'journal written' | 'temporaries made' | 'inodes recorded' | 'one named' | 'all named'
export type AfterStep = (step: LayStep) => Promise<void> | void

interface Making {
  readonly root: Finding['root']
  readonly target: Target
}

/** Where several names are to be held by the same placeholder, one that needs a directory decides. */
export function agreeOnKinds(findings: readonly Finding[]): readonly Finding[] {
  const asDirectory = new Set<string>()
  for (const { located } of findings) {
    if (located.at === 'missing' && located.kind === 'directory') asDirectory.add(located.place)
  }
  return findings.map((finding) => {
    const { located } = finding
    if (located.at !== 'missing' || !asDirectory.has(located.place)) return finding
    const { content: _filling, ...empty } = located
    return { ...finding, located: { ...empty, kind: 'directory' } }
  })
}

/** One making for all names of the same place. */
function planMakings(findings: readonly Finding[]): readonly Making[] {
  const makings = new Map<string, Making>()
  for (const { root, located } of findings) {
    if (located.at !== 'missing' || makings.has(located.place)) continue
    makings.set(located.place, { root, target: { ...located, temporary: newTemporaryName() } })
  }
  return [...makings.values()]
}

export interface LayContext {
  readonly stateDir: string
  readonly journal: Journal
  readonly afterStep?: AfterStep | undefined
}

/** False: the journal tells everything already, and was not written. */
export async function lay(
  { stateDir, journal, afterStep }: LayContext,
  findings: readonly Finding[],
): Promise<boolean> {
  const makings = planMakings(findings)
  const held = [...elsewhere(journal.entries, findings), ...sharedEntries(findings)]
  if (makings.length === 0 && isListed(held, journal.entries)) return false
  const record = (entries: readonly JournalEntry[]): void =>
    writeJournal(stateDir, { ...journal, entries: [...held, ...entries] })
  record(makings.map((making) => entryOf(making)))
  await afterStep?.('journal written')
  if (makings.length === 0) return true
  const ownerOf = ownersOfRoots()
  const made = makings.map((making) => ({ making, made: makeTemporary(making.target, ownerOf(making)) }))
  await afterStep?.('temporaries made')
  record(made.map((each) => entryOf(each.making, each.made)))
  await afterStep?.('inodes recorded')
  for (const [index, each] of made.entries()) {
    giveName(each.making.target, each.made)
    if (index === 0) await afterStep?.('one named')
  }
  await afterStep?.('all named')
  return true
}

/** Entries of an earlier laying at which these findings did not look. One that was looked at is shared, or ours no more. */
function elsewhere(entries: readonly JournalEntry[], findings: readonly Finding[]): readonly JournalEntry[] {
  return entries.filter(
    (entry) =>
      !findings.some(({ root, located }) => {
        const { maskedName } = located
        return root.hostPath === entry.root && (maskedName === entry.name || maskedName.startsWith(`${entry.name}/`))
      }),
  )
}

function isListed(held: readonly JournalEntry[], entries: readonly JournalEntry[]): boolean {
  const known = new Set(entries.map((entry) => `${entry.device}:${entry.inode}`))
  return held.every((entry) => known.has(`${entry.device}:${entry.inode}`))
}

function sharedEntries(findings: readonly Finding[]): readonly JournalEntry[] {
  const entries = findings.flatMap(({ root, located }) => {
    if (located.at !== 'placeholder') return []
    const { maskedName: name, kind, inode, born, content } = located
    const device = root.device ?? located.device
    const identity = { device, inode, ...(born === undefined ? {} : { born }) }
    return [{ root: root.hostPath, name, kind, ...identity, ...(content === undefined ? {} : { content }) }]
  })
  return [...new Map(entries.map((entry) => [`${entry.device}:${entry.inode}`, entry])).values()]
}

export function closeParents(findings: readonly Finding[]): void {
  for (const { root, located } of findings)
    if (located.at === 'missing' && located.parent !== root.descriptor) closeSync(located.parent)
}

const entryOf = ({ root, target }: Making, made?: Made): JournalEntry => ({
  root: root.hostPath,
  name: target.maskedName,
  kind: target.kind,
  ...(target.content === undefined ? {} : { content: target.content }),
  temporary: target.temporary,
  ...made,
  ...(made === undefined || root.device === undefined ? {} : { device: root.device }),
})

/** Made by root, it still belongs to whom the mount belongs to. */
function ownersOfRoots(): (making: Making) => Owner | undefined {
  if (process.getuid?.() !== 0) return () => undefined
  const known = new Map<number, Owner>()
  return ({ root: { descriptor } }) => {
    const owner = known.get(descriptor) ?? fstatSync(descriptor, { bigint: true })
    known.set(descriptor, owner)
    return owner
  }
}
