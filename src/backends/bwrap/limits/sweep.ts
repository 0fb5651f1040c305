// Control groups in the journal: named before they are made, and ended and removed for processes that are gone.
import { basename } from 'node:path'
import type { SandboxId } from '../../../contract/ids.ts'
import { isAlive, ownIdentity } from '../../../process/identity.ts'
import {
  findJournal,
  listJournals,
  settleJournal,
  underLock,
  writeJournal,
  type Journal,
} from '../../../guards/journal.ts'
import { describe, removeGroup } from './files.ts'
import { limitGroupName } from './limits.ts'
import { endProcesses } from './processes.ts'

export interface LimitSweepReport {
  readonly removed: readonly SandboxId[]
  /** On the operator's side. What could not be removed stays in the journal. */
  readonly kept: readonly { readonly sandboxId: SandboxId; readonly why: string }[]
}

export interface GroupRecord {
  readonly sandboxId: SandboxId
  readonly stateDir: string
  readonly directories: readonly string[]
}

/** To be called before the directories are made (`beforeMaking` of `createLimitGroup`). */
export async function recordLimitGroup(group: GroupRecord): Promise<void> {
  const { sandboxId, stateDir, directories } = group
  await underLock(stateDir, async () => {
    const journal = findJournal(stateDir, sandboxId) ?? { sandboxId, owner: ownIdentity(), entries: [] }
    // Control groups do not outlive the machine, so their record need not either.
    writeJournal(stateDir, { ...journal, limitGroup: directories })
  })
}

/** To be called when the group has been destroyed. Idempotent. */
export async function forgetLimitGroup({ sandboxId, stateDir }: Omit<GroupRecord, 'directories'>): Promise<void> {
  // Nobody else writes this journal, so what is gone stays gone, and a lock costs more than a look.
  if (findJournal(stateDir, sandboxId) === undefined) return
  await underLock(stateDir, async () => {
    const journal = findJournal(stateDir, sandboxId)
    if (journal?.limitGroup === undefined) return
    const { owner, entries } = journal
    settleJournal(stateDir, { sandboxId, owner, entries })
  })
}

/** Ends what still runs in groups of dead owners, and removes the groups. To be called before placeholders are swept. */
export async function sweepLimitGroups(stateDir: string): Promise<LimitSweepReport> {
  const removed: SandboxId[] = []
  const kept: { sandboxId: SandboxId; why: string }[] = []
  for (const journal of listJournals(stateDir).journals) {
    if (journal.limitGroup === undefined || isAlive(journal.owner)) continue
    try {
      await endGroup(journal, journal.limitGroup)
      await forgetLimitGroup({ sandboxId: journal.sandboxId, stateDir })
      removed.push(journal.sandboxId)
    } catch (error) {
      kept.push({ sandboxId: journal.sandboxId, why: describe(error) })
    }
  }
  return { removed, kept }
}

async function endGroup({ sandboxId, owner }: Journal, directories: readonly string[]): Promise<void> {
  if (owner.bootId !== ownIdentity().bootId) return
  // SECURITY: everything in these directories is killed, so no journal may name any other.
  // src/backends/bwrap/limits/sweep.test: "a journal that names a directory of another kind is not followed"
  if (directories.some((directory) => basename(directory) !== limitGroupName(sandboxId))) {
    throw new TypeError('the journal names a directory that is not the control group of its sandbox')
  }
  await endProcesses(directories)
  for (const directory of directories) await removeGroup(directory, { deadlineMs: 2000 })
}
