// Protected names that are missing in a writable mount need something on the host over which a mount can be laid, or the
// guest could create them. Empty placeholders stand there while a sandbox uses them, and go with the last one.
// Promises: nothing stays in the user's workspace, also after a kill at any moment (swept at the next start); nothing that
// has content, or that we did not make, is ever removed; sandboxes of several processes may share a workspace.
// Must not know mounts, bwrap or policy: names come in, what exists at them goes out.
import { existsSync, type BigIntStats } from 'node:fs'
import type { SandboxId } from '../contract/ids.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../process/identity.ts'
import {
  findJournal,
  listJournals,
  removeTornJournals,
  settleJournal,
  underLock,
  writeJournal,
  type Journal,
} from './journal.ts'
import { agreeOnKinds, closeParents, lay, type AfterStep, type Finding } from './placing/lay.ts'
import { isSame, type Identified } from './placing/remove.ts'
import { sweepEntries, type Kept } from './placing/sweep.ts'
import { locate, startAt } from './placing/walk.ts'
import { holdReserve, withReserve } from './reserve.ts'

export interface ProtectedName {
  readonly name: string
  /** What to make where it is missing. */
  readonly kind: 'file' | 'directory'
  /** What to put into it. Absent: nothing. */
  readonly content?: string
}

export interface ProtectedRoot {
  /** Open descriptor of the mount root. Stays the caller's. */
  readonly descriptor: number
  /** For the journal: where a later process finds the root again. */
  readonly hostPath: string
  /** The device that it has there, where the descriptor's is another: overlayfs shows one of its own. */
  readonly device?: string
  readonly names: readonly ProtectedName[]
}

export interface PlacedProtection {
  readonly hostPath: string
  readonly name: string
  readonly exists: 'present' | 'placeholder'
  /** Of what is at `maskedName`. */
  readonly kind: 'file' | 'directory'
  /** What must be masked so that `name` can be neither changed nor created: itself, or a component that leads to it. */
  readonly maskedName: string
}

export interface LayOptions {
  readonly sandboxId: SandboxId
  readonly stateDir: string
  readonly roots: readonly ProtectedRoot[]
  /** Directories of the control group that will be made next, written down with the names: a second turn of the lock takes longer. */
  readonly limitGroup?: readonly string[] | undefined
  /** Who owns them; only a test is somebody else. */
  readonly owner?: ProcessIdentity
  /** A test stops here for ever, as a kill would. */
  readonly afterStep?: AfterStep
}

export interface SweepReport {
  /** Sandboxes of dead processes that were tidied up. */
  readonly swept: readonly SandboxId[]
  readonly removed: number
  /** What was not removed, on the operator's side, and why. */
  readonly kept: readonly Kept[]
  /** Journals that could not be understood, by file name. Left as they are. */
  readonly unreadable: readonly string[]
}

/**
 * All or nothing: if one name cannot be held, nothing new is left behind. May be called again for the same sandbox, when
 * the host's owner has changed things: what is laid and still in place stays.
 */
export async function layPlaceholders(options: LayOptions): Promise<readonly PlacedProtection[]> {
  const { stateDir, sandboxId, roots, limitGroup, afterStep, owner = ownIdentity() } = options
  return underLock(stateDir, async () => {
    // Hundreds of sandboxes may live, and most lay nothing.
    const all = lazily(() => listJournals(stateDir).journals)
    const before = findJournal(stateDir, sandboxId) ?? { sandboxId, owner, entries: [] }
    const journal = limitGroup === undefined ? before : { ...before, limitGroup }
    const found: Finding[] = []
    holdReserve(stateDir)
    try {
      for (const root of roots) findAll(root, placeholderTest(all), found)
      const findings = agreeOnKinds(found)
      const isWritten = await lay({ stateDir, journal, afterStep }, findings)
      if (!isWritten && journal.limitGroup !== before.limitGroup) writeJournal(stateDir, journal)
      return findings.map(placed)
    } catch (error) {
      await undoLaying(stateDir, before, all())
      throw error
    } finally {
      closeParents(found)
    }
  })
}

function lazily<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: read() }).value
}

/** Back to the journal as it was before: what it lists is in use and stays. */
async function undoLaying(stateDir: string, before: Journal, journals: readonly Journal[]): Promise<void> {
  const now = findJournal(stateDir, before.sandboxId)
  if (now === undefined) return
  const others = journals.filter((each) => each.sandboxId !== before.sandboxId && isAlive(each.owner))
  const { remaining } = sweepEntries(now, [...others, before])
  settleJournal(stateDir, { ...withoutGoneGroup(now), entries: [...before.entries, ...remaining] })
}

function findAll(root: ProtectedRoot, isPlaceholder: (found: Identified) => boolean, findings: Finding[]): void {
  const isLaid = ({ ino, dev, birthtimeNs }: BigIntStats): boolean =>
    isPlaceholder({ ino, birthtimeNs, dev: root.device === undefined ? dev : BigInt(root.device) })
  const start = startAt(root.descriptor)
  for (const { name, kind, content } of root.names) {
    findings.push({ root, name, located: locate(start, { name, kind, content, isPlaceholder: isLaid }) })
  }
}

/** Journals of the dead count too: what they left is a placeholder until it is swept, and may be used on. */
function placeholderTest(journals: () => readonly Journal[]): (found: Identified) => boolean {
  const { bootId } = ownIdentity()
  return (found) =>
    journals().some(({ owner, entries }) =>
      entries.some((entry) => isSame(entry, found, { sameBoot: owner.bootId === bootId })),
    )
}

const placed = ({ root, name, located }: Finding): PlacedProtection => ({
  hostPath: root.hostPath,
  name,
  exists: located.at === 'present' ? 'present' : 'placeholder',
  kind: located.kind,
  maskedName: located.maskedName,
})

export interface LiftReport {
  readonly removed: number
  readonly kept: readonly Kept[]
}

/** Removes those that no other sandbox uses. Idempotent. What could not be removed stays in the journal for the sweep. */
export async function liftPlaceholders(sandboxId: SandboxId, stateDir: string): Promise<LiftReport> {
  return withReserve(stateDir, () => underLock(stateDir, () => liftUnlocked(sandboxId, stateDir)))
}

async function liftUnlocked(sandboxId: SandboxId, stateDir: string): Promise<LiftReport> {
  const journal = findJournal(stateDir, sandboxId)
  if (journal === undefined) return { removed: 0, kept: [] }
  if (journal.entries.length === 0) {
    settleJournal(stateDir, withoutGoneGroup(journal))
    return { removed: 0, kept: [] }
  }
  const { journals } = listJournals(stateDir)
  const others = journals.filter((each) => each.sandboxId !== sandboxId && isAlive(each.owner))
  const { removed, kept, remaining } = sweepEntries(journal, others)
  settleJournal(stateDir, { ...withoutGoneGroup(journal), entries: remaining })
  return { removed, kept }
}

/** The sandbox is ending, or never came to be: a control group that is not there will not be made any more. */
function withoutGoneGroup(journal: Journal): Journal {
  const { limitGroup, ...rest } = journal
  return limitGroup?.some((directory) => existsSync(directory)) === true ? journal : rest
}

/** Takes away what processes that are gone have left. */
export function sweepPlaceholders(stateDir: string): Promise<SweepReport> {
  return withReserve(stateDir, () => underLock(stateDir, () => sweepUnlocked(stateDir)))
}

async function sweepUnlocked(stateDir: string): Promise<SweepReport> {
  const { journals, unreadable } = listJournals(stateDir)
  const isDead = new Map(journals.map((journal) => [journal, !isAlive(journal.owner)]))
  const live = journals.filter((journal) => isDead.get(journal) === false)
  const report = { swept: [] as SandboxId[], removed: 0, kept: [] as Kept[], unreadable }
  for (const journal of journals.filter((each) => isDead.get(each))) {
    const outcome = sweepEntries(journal, live)
    settleJournal(stateDir, { ...journal, entries: outcome.remaining })
    report.swept.push(journal.sandboxId)
    report.removed += outcome.removed
    report.kept.push(...outcome.kept)
  }
  removeTornJournals(stateDir)
  return report
}
