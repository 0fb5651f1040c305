// What a look at the files of a run costs after an action that changed nothing, against the lstat of every entry that no
// look can do without, and how long it keeps everything else in the process waiting.
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openChangeWatch, type ChangeWatch } from '../src/runs/changes/watch.ts'
import { interleave, round } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atMost, type Result } from './result.ts'

export async function changesBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  return [await smallBench(place), ...(await largeBenches(place))]
}

async function openTree(place: Place, name: string, files: number): Promise<{ watch: ChangeWatch; paths: string[] }> {
  for (const part of ['deliverables', 'archive', 'logs']) place.directory(join(name, part))
  const root = place.tree(join(name, 'workspace'), files)
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((path) => join(root, path))
  return { watch: await openChangeWatch({ directory: join(place.path, name) }), paths }
}

const lstatAll = (paths: readonly string[]): void => {
  for (const path of paths) lstatSync(path)
}

async function smallBench(place: Place): Promise<Result> {
  const { watch, paths } = await openTree(place, 'small', 198)
  const times = await interleave(
    { look: async () => void (await watch.look()), raw: async () => lstatAll(paths) },
    300,
    30,
  )
  return atMost({
    name: 'look at 200 entries, nothing changed',
    promise: '≤ 1 ms',
    measured: times.look.medianMs,
    limit: 1,
    unit: 'ms',
    figures: { ...times, entries: paths.length },
  })
}

async function largeBenches(place: Place): Promise<readonly Result[]> {
  const startedAt = performance.now()
  const { watch, paths } = await openTree(place, 'large', 20_000)
  const openMs = round(performance.now() - startedAt)
  const holdUps: number[] = []
  const times = await interleave(
    { look: async () => void holdUps.push(await longestHoldUp(() => watch.look())), raw: async () => lstatAll(paths) },
    15,
  )
  const figures = { ...times, entries: paths.length, makeAndOpenMs: openMs }
  return [
    atMost({
      name: 'look at 20,000 entries ÷ lstat of each, nothing changed',
      promise: '≤ 2.5 ×',
      measured: round(times.look.medianMs / times.raw.medianMs),
      limit: 2.5,
      unit: 'ratio',
      figures,
    }),
    atMost({
      name: 'hold-up of the event loop by a look at 20,000 entries',
      promise: '≤ 25 ms',
      measured: round(holdUps.toSorted((a, b) => a - b)[Math.floor(holdUps.length / 2)] ?? Number.NaN),
      limit: 25,
      unit: 'ms',
      figures: { holdUps: holdUps.map(round) },
    }),
  ]
}

/** The longest time between two turns of the event loop while the work is done. */
async function longestHoldUp(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const turn = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  await work()
  clearImmediate(next)
  return longest
}
