// How long a server takes to listen when its store holds 10,000 finished runs, whose directories are on the disk.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunRow } from '../src/contract/store.ts'
import { openStore } from '../src/store/open.ts'
import { interleave } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atMost, type Result } from './result.ts'
import { serve } from './served.ts'

const finished = 10_000

export async function serverStartBench(): Promise<readonly Result[]> {
  using place = openPlace()
  // The first start makes keys, token and tables.
  for (const name of ['full', 'empty']) await (await serve(place, name))[Symbol.asyncDispose]()
  await fill(place, 'full')
  const times: Record<string, number[]> = { full: [], empty: [] }
  const start = (name: string) => async (): Promise<void> => {
    await using served = await serve(place, name)
    times[name]?.push(served.startMs)
  }
  const rounds = 7
  await interleave({ full: start('full'), empty: start('empty') }, rounds, 1)
  const median = (name: string): number =>
    (times[name] ?? []).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN
  return [
    atMost({
      name: `start of a server with ${finished} finished runs`,
      promise: '≤ 2 s',
      measured: Math.round(median('full')),
      limit: 2000,
      unit: 'ms',
      figures: { fullMs: Math.round(median('full')), emptyMs: Math.round(median('empty')) },
    }),
  ]
}

async function fill(place: Place, name: string): Promise<void> {
  const store = await openStore({ url: join(place.path, name, 'state', 'glovebox.db') })
  try {
    for (let index = 0; index < finished; index += 1)
      await store.runs.put(rowAt(join(place.path, name, 'data', 'runs'), index))
  } finally {
    await store.close()
  }
}

function rowAt(root: string, index: number): RunRow {
  const at = new Date(1_700_000_000_000 + index * 1000).toISOString()
  const run_id = `run_${index.toString(16).padStart(32, '0')}`
  const directory = join(root, 'bench', run_id)
  const row: RunRow = {
    run_id,
    session_id: `sess_${'0'.repeat(32)}`,
    task_id: `task_${'0'.repeat(32)}`,
    project_id: 'bench',
    directory,
    status: 'completed',
    executor: 'command',
    failure_reason: null,
    created_at: at,
    updated_at: at,
    state_seq: 9,
  }
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'run.json'), JSON.stringify(row))
  return row
}
