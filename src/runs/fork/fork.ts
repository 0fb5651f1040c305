// Forks: a new run whose workspace begins where another one was. By overlay the other run's files are seen through and copied
// when they are changed, so that making a fork costs the same whatever lies there; else everything is copied, and the record
// says which it was and why. Promises: the other run is only read; what cannot be restored is refused before anything is made.
// It knows directories and records, and neither sandboxes nor who could lay an overlay: that is told.
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ForkMethod, ForkRecord } from '../../contract/fork.ts'
import { needsOwner, type RunRecord } from '../../contract/run.ts'
import { GloveboxError } from '../../errors/error.ts'
import { placeIn, type Beginning } from '../layout.ts'
import type { Restoration } from './at.ts'
import type { Copied } from './copy.ts'
import { untilPast } from './moment.ts'
import { isPrepared } from './prepared.ts'
import { layersUnder, seenFrom, stackOf, workIn } from './record.ts'

export interface Parent {
  /** Real path. */
  readonly directory: string
  readonly record: RunRecord
}

/** The moment at which a run is forked. */
export interface ForkPoint {
  readonly seq: number
  readonly eventHash: string
  /** Undefined: as it is now, at its end. */
  readonly action?: number | undefined
}

export interface ForkOptions {
  readonly parent: Parent
  readonly point: ForkPoint
  /** Of the new run. */
  readonly runId: string
  readonly directory: string
  readonly by: ForkMethod
  /** Why not by overlay; null if it is. */
  readonly why: string | null
  readonly now?: () => number
}

export interface PlannedFork {
  readonly record: ForkRecord
  readonly beginning: Beginning
  /** What had to be copied; known when the beginning has been laid. */
  cost(): Copied
}

/** BUSY while the run is at work: what lies under a fork must not change any more. */
export function requireForkable({ status, forked_from: origin }: RunRecord): void {
  if (!needsOwner(status) || isPrepared({ status, forked_from: origin })) return
  throw new GloveboxError('BUSY', `Cannot fork the run: it has not ended, it is ${status}`, {
    hint: 'Wait until it has, or cancel it: glovebox runs cancel. After a crash: glovebox runs recover.',
  })
}

export async function planFork(options: ForkOptions): Promise<PlannedFork> {
  const { parent, point, by } = options
  requireForkable(parent.record)
  const under = layersUnder(parent.directory)
  const restoration = point.action === undefined ? undefined : await earlier(parent.directory, point.action, under)
  const isEarlier = restoration !== undefined && restoration.steps.length > 0
  const record = recordOf(options, isEarlier)
  const stack = [placeIn(parent.directory, 'workspace'), ...under]
  let copied: Copied = { entries: 0, bytes: 0 }
  const fill = async (stage: string): Promise<void> => {
    likeness(stack[0] ?? '', placeIn(stage, 'workspace'))
    if (by === 'overlay') {
      await layOver(stage, isEarlier ? restoration : undefined)
      return untilPast(Date.parse(record.forked_at), workIn(stage))
    }
    const { copyTree } = await import('./copy.ts')
    copied = await copyTree(stack, placeIn(stage, 'workspace'), by)
    if (restoration !== undefined)
      (await import('./restore.ts')).restoreInCopy(restoration, placeIn(stage, 'workspace'))
  }
  return { record, beginning: { record: `${JSON.stringify(record, null, 2)}\n`, fill }, cost: () => copied }
}

/** Loaded when it is asked for: most forks are of the end. */
const earlier = async (directory: string, action: number, under: readonly string[]): Promise<Restoration> =>
  (await import('./at.ts')).planRestoration(directory, action, under)

function recordOf(options: ForkOptions, isEarlier: boolean): ForkRecord {
  const { parent, point, runId, directory, by, why } = options
  const forkedAt = new Date((options.now ?? Date.now)()).toISOString()
  const own = { run_id: runId, directory, place: 'archive/at', unchanged_since: null } as const
  const layers = [...(isEarlier ? [own] : []), ...stackOf(parent.directory, parent.record.run_id, forkedAt)]
  return {
    run_id: runId,
    forked_from: { run_id: parent.record.run_id, seq: point.seq },
    event_hash: point.eventHash,
    after_action: point.action ?? null,
    forked_at: forkedAt,
    by,
    why,
    layers: by === 'overlay' ? layers.map((layer) => seenFrom(directory, layer)) : [],
  }
}

async function layOver(stage: string, restoration: Restoration | undefined): Promise<void> {
  mkdirSync(workIn(stage), { mode: 0o700 })
  if (restoration === undefined) return
  const layer = join(placeIn(stage, 'archive'), 'at')
  mkdirSync(layer)
  likeness(placeIn(stage, 'workspace'), layer)
  ;(await import('./restore.ts')).restoreAsLayer(restoration, layer)
}

/** The whole belongs to whom its uppermost directory belongs. */
function likeness(from: string, to: string): void {
  const { uid, gid, mode } = statSync(from)
  if (process.geteuid?.() === 0) chownSync(to, uid, gid)
  chmodSync(to, mode & 0o7777)
}
