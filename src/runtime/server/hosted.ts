// What a server holds of each sandbox beside its member: the commands that were begun, what was uploaded, and when its time is over.
import type { SandboxId } from '../../contract/ids.ts'
import type { Description } from '../../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { inTime } from '../../process/in-time.ts'
import { during } from '../pool/during.ts'
import { sandboxFacade } from '../pool/facade.ts'
import { endOf, standingOf } from '../pool/life.ts'
import type { RealPool } from '../pool/open.ts'
import type { MemberRecord } from '../pool/record.ts'
import type { AtWork } from './at-work.ts'
import { openCommands } from './commands.ts'
import { openOutputRoom } from './output-room.ts'
import { uploadCounter, type SandboxLimits } from './quota.ts'
import type { HostedSandbox, SandboxState } from './sandboxes.ts'
import { openShellCommands, type ShellCommands } from './shell-commands.ts'
import { openShelf } from './shelf.ts'

export type Hosted = HostedSandbox

export interface Hosting {
  /** The same one for as long as the sandbox lives. */
  hosted(record: MemberRecord): Hosted
  stateOf(record: MemberRecord): SandboxState
  /** Its end has moved. */
  schedule(id: SandboxId): void
  forget(id: SandboxId): void
  readonly shellCommands: ShellCommands
  /** Commands at work. */
  readonly busy: number
  /** The same, and whatever else is done in a sandbox for whoever asked for it. */
  readonly atWork: number
  /** Cancels the commands that run, so that whoever waits for one learns why it ended. */
  close(): Promise<void>
}

interface Kept {
  readonly hosted: Hosted
  end: NodeJS.Timeout | undefined
}

/** Of commands that are told to end. */
const mostStopMs = 5000

/** Timers count in 31 bits; what is later is looked at again then. */
const longestTimerMs = 2 ** 31 - 1

export function createHosting({
  pool,
  members,
  lifetimes,
  limits,
  work,
}: RealPool & { readonly limits: SandboxLimits; readonly work: AtWork }): Hosting {
  const kept = new Map<SandboxId, Kept>()
  const { maxAgeMs } = limits
  const room = openOutputRoom(limits)
  const stores = { shelf: openShelf(limits.keptOutputBytes), room }
  const shellCommands = openShellCommands(room)

  const recordOf = (id: SandboxId, last: MemberRecord): MemberRecord => members.known(id) ?? last
  const forget = (id: SandboxId): void => {
    const known = kept.get(id)
    if (known === undefined) return
    clearTimeout(known.end)
    kept.delete(id)
    known.hosted.commands.forget()
  }
  const end = async (id: SandboxId): Promise<void> => {
    const record = members.read(id)
    if (record === undefined) return forget(id)
    if (endOf(record, maxAgeMs) > Date.now()) return schedule(id)
    if (standingOf(record, { maxAgeMs }) === 'over') {
      await lifetimes.destroy(id, { waitMs: 0 })
      forget(id)
    } else if (pool.list().some((member) => member.id === id)) await pool.rest(id)
  }
  const schedule = (id: SandboxId): void => {
    const known = kept.get(id)
    const record = members.read(id)
    if (known === undefined || record === undefined) return
    clearTimeout(known.end)
    const leftMs = endOf(record, maxAgeMs) - Date.now()
    // What cannot be ended now is ended by the pool's own passes.
    const atItsEnd = (): void => void end(id).catch(() => {})
    known.end = setTimeout(atItsEnd, Math.min(Math.max(0, leftMs), longestTimerMs)).unref()
  }
  const stateOf = (record: MemberRecord): SandboxState => {
    const { id } = record
    if (pool.find(id) !== undefined) return 'active'
    if (standingOf(record, { maxAgeMs }) === 'paused') return 'paused'
    const here = pool.list().find((member) => member.id === id)
    return here === undefined || here.state === 'destroying' ? 'resting' : here.state
  }

  const create = (first: MemberRecord): Hosted => {
    const { id } = first
    const sandbox = sandboxFacade({
      id,
      live: async () => (await lifetimes.live(id).catch(asGone)).sandbox,
      during: (use) => work.during(() => during(() => lifetimes.live(id).catch(asGone), use)),
      open: () => {
        const member = pool.find(id) ?? pool.list().find((each) => each.id === id)?.handle
        return member?.isOpen === true ? member.sandbox : undefined
      },
      // Closed for as long as its files are carried somewhere, it is still the one that it was.
      describe() {
        const member = pool.find(id)
        return member?.isOpen === true ? member.sandbox.describe() : lastDescription(members.describe(id))
      },
      kill: () => lifetimes.destroy(id),
      dispose: () => pool.release(id),
    })
    const { project, token_id: tokenId, key, name, metadata, backend, created_at: createdAt } = first
    return {
      id,
      project,
      tokenId,
      key,
      name,
      metadata,
      backend,
      createdAt,
      get expiresAt() {
        return new Date(endOf(recordOf(id, first), maxAgeMs)).toISOString()
      },
      get state() {
        return stateOf(recordOf(id, first))
      },
      sandbox,
      commands: openCommands(sandbox, stores),
      takeUpload: uploadCounter(limits),
    }
  }

  return {
    hosted(record) {
      const known = kept.get(record.id)
      // The same key may have a new sandbox since.
      if (known !== undefined && known.hosted.createdAt === record.created_at) return known.hosted
      forget(record.id)
      const hosted = create(record)
      kept.set(record.id, { hosted, end: undefined })
      schedule(record.id)
      return hosted
    },
    stateOf,
    schedule,
    forget,
    shellCommands,
    get busy() {
      return [...kept.values()].reduce((sum, { hosted }) => sum + hosted.commands.running, shellCommands.running)
    },
    get atWork() {
      // A command outside of a shell is a use of its sandbox, and counted as one.
      return work.count + shellCommands.running
    },
    async close() {
      for (const { end: timer } of kept.values()) clearTimeout(timer)
      const all = [shellCommands, ...[...kept.values()].map(({ hosted }) => hosted.commands)]
      const stopped = Promise.all(all.map((each) => each.stop()))
      // What does not end by itself ends with its sandbox.
      await inTime(stopped, mostStopMs)
    },
  }
}

const asGone = (error: unknown): never => {
  if (isGloveboxError(error) && error.code === 'NOT_FOUND')
    throw new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it has ended', { hint: 'Create a new one.' })
  throw error
}

function lastDescription(found: Description | undefined): Description {
  if (found !== undefined) return found
  throw new GloveboxError('BUSY', 'Cannot describe the sandbox: it has not been opened yet', {
    hint: 'Try again in a moment.',
  })
}
