// Has anything below a fork changed since it was made? The kernel does not say what an overlay shows when a lower layer is
// changed behind its back, so such a fork is not started. Asked of the times of change, which nobody can set: no look at the
// other run is needed when the fork is made, and its cost does not grow with the workspace. This look does grow, and is
// bounded; the contents themselves are compared by `runs verify`. That no later change has an earlier time: see moment.ts.
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ForkRecord } from '../../contract/fork.ts'
import { GloveboxError } from '../../errors/error.ts'
import { readEvents } from '../reader.ts'
import { roundingMs } from './moment.ts'
import { layersUnder } from './record.ts'

const mostEntries = 50_000

export interface BaseLook {
  readonly entries: number
  /** False when there was more than is looked at. */
  readonly complete: boolean
}

/** CONFLICT when something has changed, NOT_FOUND when a run below is gone. */
export async function requireUnchanged(directory: string, fork: ForkRecord): Promise<BaseLook> {
  const layers = layersUnder(directory, fork)
  const nearest = fork.layers.findIndex(({ run_id: id }) => id === fork.forked_from.run_id)
  if (nearest >= 0) await requireHistory(join(layers[nearest] ?? '', '..'), fork)
  let left = mostEntries
  for (const [index, layer] of layers.entries()) {
    const since = fork.layers[index]?.unchanged_since ?? null
    if (since === null || left <= 0) continue
    const { changed, looked } = lookForChange(layer, Date.parse(since) + roundingMs, left)
    if (changed !== undefined) throw changedSince(changed)
    left -= looked
  }
  return { entries: mostEntries - left, complete: left > 0 }
}

/** The event that was forked must still stand where it stood. */
async function requireHistory(directory: string, fork: ForkRecord): Promise<void> {
  const { seq, run_id: runId } = fork.forked_from
  for await (const event of readEvents(directory, { afterSeq: seq - 1 })) {
    if (event.seq === seq && event.hash === fork.event_hash) return
    break
  }
  throw new GloveboxError('CONFLICT', `Cannot start the fork: the log of ${runId} is not the one it was forked from`)
}

function lookForChange(
  layer: string,
  sinceMs: number,
  most: number,
): { readonly changed: string | undefined; readonly looked: number } {
  const open = ['']
  let looked = 0
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const path = Buffer.concat([Buffer.from(layer), Buffer.from(place, 'latin1')])
    const stats = lstatSync(path, { throwIfNoEntry: false })
    looked += 1
    if (stats === undefined || stats.ctimeMs > sinceMs) return { changed: place, looked }
    if (looked >= most) return { changed: undefined, looked: most }
    if (stats.isDirectory()) for (const name of readdirSync(path, { encoding: 'latin1' })) open.push(`${place}/${name}`)
  }
  return { changed: undefined, looked }
}

const changedSince = (place: string): GloveboxError =>
  new GloveboxError('CONFLICT', 'Cannot start the fork: the workspace that it was forked from has been changed since', {
    hint: 'Fork it again. A run below a fork by overlay must stay as it is; with --copy it need not.',
    facts: {
      path: Buffer.from(place.slice(1) || '.', 'latin1')
        .toString('utf8')
        .slice(0, 300),
    },
  })
